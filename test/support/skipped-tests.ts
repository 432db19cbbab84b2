/** A reporter that prints the number of skipped tests and the reasons at the end, so that no gap goes unnoticed. */
import process from 'node:process';
import type { Reporter, TestModule } from 'vitest/node';
import { reasonIn } from './requirements.ts';

/** Lines such as `Skipped: 1 test` and `  1  pwsh is not installed`, the most frequent reason first. */
export function skippedSummary(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) {
    const reason = reasonIn(name) ?? `no reason: ${name}`;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([reason, count]) => `  ${count}  ${reason}`);
  return [`Skipped: ${names.length} ${names.length === 1 ? 'test' : 'tests'}`, ...rows];
}

export default class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    // Tests that `-t` excludes are not skipped because of a missing requirement.
    if (modules.some(({ project }) => project.globalConfig.testNamePattern !== undefined)) return;
    const names = modules.flatMap((module) => [...module.children.allTests('skipped')].map(({ fullName }) => fullName));
    process.stdout.write(`${skippedSummary(names).join('\n')}\n`);
  }
}
