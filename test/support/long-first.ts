/** The order of the test files. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, the longest first. They start first: otherwise one of them would still run when all other files are
 * done. Vitest would sort by size until it has measured a file, and these are small.
 */
export const longFiles = [
  'test/agents/installed.test.ts',
  'test/prompts/interleavings.test.ts',
  'test/docs/examples.test.ts',
  'test/service/repositories/runs.test.ts',
  'test/service/runtimes/acp/runs.test.ts',
  'test/service/http/every-operation.test.ts',
  'test/e2e/completion.test.ts',
  'test/e2e/demo.test.ts',
  'test/commands/repository.test.ts',
  'test/service/page/page.test.ts',
  'test/service/runtimes/script/shell.test.ts',
  'test/faults/interleavings.test.ts',
  'test/e2e/prompts.test.ts',
  'test/service/runtimes/script/browse.test.ts',
];

/** The files in the order in which they start: the long ones, then the others in the order of Vitest. */
export function longFirst<File extends { moduleId: string }>(files: readonly File[]): File[] {
  const rank = ({ moduleId }: File): number => {
    const index = longFiles.findIndex((name) => moduleId.endsWith(`/${name}`));
    return index < 0 ? longFiles.length : index;
  };
  return [...files].sort((first, second) => rank(first) - rank(second));
}

export default class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return longFirst(await super.sort(files));
  }
}
