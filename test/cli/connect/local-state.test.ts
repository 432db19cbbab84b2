import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type LocalState, writeState } from '../../../src/cli/connect/local-state.ts';
import { temporaryFolder } from '../../support/temporary.ts';

it('the state of the local service that cannot be written is reported with the variable for its folder', async () => {
  const file = path.join(await temporaryFolder(), 'file');
  await writeFile(file, '');
  await expect(writeState(path.join(file, 'local.json'), { pid: 1 } as LocalState)).rejects.toMatchObject({
    code: 'not_writable',
    hint: 'Set AOPS_DATA_DIR to another folder.',
  });
});
