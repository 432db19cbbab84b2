/**
 * The remains of a service that is killed at this moment, without a process to kill: its data directory as it is on the disk. The
 * service goes on and knows nothing of it.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../support/temporary.ts';
import type { Api } from './service.ts';

/**
 * A copy of the data directory of a service in this process. It is of one instant: nothing of the service can execute while the copy
 * is made, and what is not on the disk is not in it.
 */
export async function crashImage(api: Pick<Api, 'dataDirectory'>): Promise<string> {
  const image = join(await temporaryDirectory(), 'data');
  cpSync(api.dataDirectory, image, { recursive: true });
  return image;
}
