/** The misbehaving agent as an installed package. */
import { cp, realpath } from 'node:fs/promises';
import path from 'node:path';
import { temporaryDirectory } from '../../support/temporary.ts';

/** Installs it where a contained program sees its whole package. @returns the folder of the program `misbehaving.js` */
export async function installMisbehaving(): Promise<string> {
  const folder = path.join(await realpath(await temporaryDirectory()), 'node_modules', 'agent');
  const source = path.join(import.meta.dirname, '../../agents');
  await cp(path.join(source, 'misbehaving.js'), path.join(folder, 'misbehaving.js'));
  await cp(path.join(source, 'misbehaving'), path.join(folder, 'misbehaving'), { recursive: true });
  return folder;
}
