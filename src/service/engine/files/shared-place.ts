/** What identifies the place where the nodes of a database store files, to notice a node that stores them elsewhere. */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createFile } from '../../../base/create-file.ts';
import { describeFileStore, type FileStoreSetting } from '../../files/setting.ts';
import type { FilePlace } from '../../store/nodes/file-place.ts';

/** The file in a shared folder that identifies it: machines may have mounted it at different paths. */
const markName = '.aops-file-store';

/** The place of a setting, which must be usable. Without one, files are in the database. Contains no secret. */
export async function filePlaceOf(setting: FileStoreSetting = { kind: 'database' }): Promise<FilePlace> {
  return { id: await identityOf(setting), inWords: describeFileStore(setting) };
}

async function identityOf(setting: FileStoreSetting): Promise<string> {
  if (setting.kind === 'database') return 'database';
  if (setting.kind === 's3') return `s3 ${JSON.stringify([setting.endpoint ?? null, setting.bucket, setting.prefix])}`;
  return `folder ${await markOf(setting.path)}`;
}

/** The content of the mark, which the first node creates. */
async function markOf(folder: string): Promise<string> {
  const file = path.join(folder, markName);
  await mkdir(folder, { recursive: true });
  await createFile(file, `${randomUUID()}\n`, 0o666);
  return (await readFile(file, 'utf8')).trim();
}
