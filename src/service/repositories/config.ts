/** The configuration of a repository that the service has just created. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Values by section and name, each name in one section only. */
export type GitConfig = Record<string, Record<string, string>>;

/**
 * Sets values in the configuration of a new repository, without a process of git for each. Each value appears once, because
 * `git config` refuses to change several.
 * @param config values that need no quotes (git-config(1), Syntax): without `"`, `\`, `#`, `;`, and spaces at their ends
 */
export async function configure(gitFolder: string, config: GitConfig): Promise<void> {
  const file = path.join(gitFolder, 'config');
  const names = new Set(Object.values(config).flatMap((values) => Object.keys(values).map((name) => name.toLowerCase())));
  const lines = (await readFile(file, 'utf8')).split('\n');
  const otherLines = lines.filter((line) => !names.has(line.split('=')[0]?.trim().toLowerCase() ?? ''));
  const sections = Object.entries(config).map(
    ([section, values]) =>
      `[${section}]\n${Object.entries(values)
        .map(([name, value]) => `\t${name} = ${value}\n`)
        .join('')}`,
  );
  await writeFile(file, otherLines.join('\n') + sections.join(''));
}
