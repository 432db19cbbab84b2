/** The paths of memory files. */
import { describe, expect, it } from 'vitest';
import { memoryLimits, remember } from '../../../../src/service/engine/revision/memory.ts';
import type { RunRow } from '../../../../src/service/store/database/schema.ts';
import { runById } from '../../../../src/service/store/runs/runs.ts';
import { startExecution } from '../../helpers/execution.ts';

async function memory() {
  const { db } = await startExecution();
  const run = (await runById(db, 'r')) as RunRow;
  return {
    write: (path: string) => db.transaction().execute((trx) => remember(trx, run, { path, content: 'text', append: false }, '')),
    paths: async () => (await db.selectFrom('memory_files').select('path').execute()).map(({ path }) => path),
  };
}

describe('the path of a memory file', () => {
  it.each(['notes.md', 'suppliers/acme.md', '.hidden', 'x'.repeat(memoryLimits.path)])('can be %s', async (path) => {
    const { write, paths } = await memory();
    expect(await write(path)).toBe('text');
    expect(await paths()).toEqual([path]);
  });

  it.each(['', '/notes.md', 'a//b', 'a/', './a', 'a/../b', 'a\\b', 'a\u0007', 'x'.repeat(memoryLimits.path + 1)])(
    'cannot be "%s"',
    async (path) => {
      const { write, paths } = await memory();
      await expect(write(path)).rejects.toMatchObject({ status: 400, error: 'invalid_memory_path' });
      expect(await paths()).toEqual([]);
    },
  );
});
