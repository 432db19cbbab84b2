/** What a run changed in the repository that it was started with. */
import { exitCodes } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import { download } from '../../client/transfers/download.ts';
import type { RunChanges } from '../../interface/types.ts';
import { isGap } from './gaps.ts';

export interface RepositoryChanges {
  changes: RunChanges;
  /** The patch in the format of git; null if it is larger than the limit. */
  patch: string | null;
}

/** The maximum size of a patch in bytes. */
const maxPatchBytes = 4 * 1024 * 1024;

/** @param gaps receives sentences about what could not be read. @returns undefined for a run without a repository */
export async function readChanges(
  client: Client,
  run_id: string,
  { signal, gaps }: { signal: AbortSignal; gaps: string[] },
): Promise<RepositoryChanges | undefined> {
  try {
    const { data: changes } = await client.call('getRunChanges', { params: { run_id } });
    if (changes.patch_url === null) return { changes, patch: '' };
    if (changes.patch_size > maxPatchBytes) {
      gaps.push('The patch of the changes in the repository is larger than 4 MiB. `aops sandbox diff RUN > run.patch` saves it.');
      return { changes, patch: null };
    }
    let chunks: Uint8Array[] = [];
    const restart = async (): Promise<void> => {
      chunks = [];
    };
    for await (const chunk of download(client, changes.patch_url, { signal, size: changes.patch_size, restart })) chunks.push(chunk);
    return { changes, patch: Buffer.concat(chunks).toString() };
  } catch (error) {
    if (!isGap(error)) throw error;
    // Without a repository, or on a service that does not offer them, nothing is missing.
    if (error.exit === exitCodes.forbidden || error.code === 'sandbox_not_found') gaps.push(error.message);
    return undefined;
  }
}
