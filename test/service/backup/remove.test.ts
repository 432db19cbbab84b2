/** The data of a service is deleted while no other process can use it. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { removeTree } from '../../../src/base/remove-tree.ts';
import { removeData } from '../../../src/service/backup/index.ts';
import { startService } from '../../../src/service/service.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

it('a service that starts meanwhile is refused until everything is deleted', async () => {
  const folder = await temporaryDirectory();
  const dataDirectory = path.join(folder, 'data');
  const start = () => startService({ dataDirectory, exec: 'off' });
  await (await start()).close();
  await mkdir(path.join(dataDirectory, 'files'), { recursive: true });
  await writeFile(path.join(dataDirectory, 'files/0190b3f0-0000-7000-8000-000000000001'), 'x');
  const starts: unknown[] = [];
  const otherNames = await removeData(dataDirectory, async (place) => {
    starts.push(await start().catch(({ code }: { code: string }) => [path.basename(place), code]));
    await removeTree(place);
  });
  expect(otherNames).toEqual([]);
  expect(starts).toEqual(
    expect.arrayContaining(['secrets.key', 'token', '0190b3f0-0000-7000-8000-000000000001'].map((name) => [name, 'data_directory_in_use'])),
  );
  expect(existsSync(dataDirectory)).toBe(false);
  await (await start()).close();
});
