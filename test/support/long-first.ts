/** The order of the test files. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, the longest first. They start first: otherwise one of them would still run when all other files are
 * done. Vitest would sort by size until it has measured a file, and these are small.
 */
export const longFiles = [
  'test/e2e/other-agents.test.ts',
  'test/agents/runs.test.ts',
  'test/agents/installed.test.ts',
  'test/e2e/nodes.test.ts',
  'test/e2e/demo.test.ts',
  'test/e2e/prompts.test.ts',
  'test/service/repositories/runs.test.ts',
  'test/service/runtimes/script/browse.test.ts',
  'test/service/exports/interruptions.test.ts',
  'test/service/page/page.test.ts',
  'test/e2e/demo-agents.test.ts',
  'test/commands/repository.test.ts',
  'test/service/runtimes/acp/runs.test.ts',
  'test/prompts/interleavings.test.ts',
  'test/docs/examples.test.ts',
  'test/service/http/every-operation.test.ts',
  'test/faults/operation-sequences.test.ts',
  'test/agents/check.test.ts',
  'test/service/repositories/urls.test.ts',
  'test/service/http/triggers.test.ts',
  'test/commands/film-strip.test.ts',
  'test/service/runtimes/script/shell.test.ts',
  'test/commands/agent-tests/agent-tests.test.ts',
  'test/service/runtimes/acp/check.test.ts',
  'test/service/runtimes/acp/tool-access.test.ts',
  'test/terminal/prompts.test.ts',
  'test/service/page/views.test.ts',
  'test/service/page/events.test.ts',
  'test/service/repositories/faults.test.ts',
  'test/service/contained/limits.test.ts',
  'test/commands/outage.test.ts',
  'test/service/runtimes/acp/tools.test.ts',
  'test/service/engine/webhooks/delivery.test.ts',
  'test/faults/interleavings.test.ts',
];

/** Folders whose files start processes, so they take longer than their size suggests. */
const slowFolders = /[\\/]test[\\/](agents|e2e)[\\/]/;

/** The files in the order in which they start: the long ones, those that start processes, then the others in the order of Vitest. */
export function longFirst<File extends { moduleId: string }>(files: readonly File[]): File[] {
  const rank = ({ moduleId }: File): number => {
    const index = longFiles.findIndex((name) => moduleId.endsWith(`/${name}`));
    if (index >= 0) return index;
    return slowFolders.test(moduleId) ? longFiles.length : longFiles.length + 1;
  };
  return [...files].sort((first, second) => rank(first) - rank(second));
}

export default class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return longFirst(await super.sort(files));
  }
}
