/** Saves files from signed URLs: recorded files and screenshots of a run. */

import type { Context } from '../../cli/kit/context.ts';
import { download } from '../../client/transfers/download.ts';
import { type LocalFolder, withByteCount } from '../../client/transfers/local-files.ts';
import { checkNames } from '../../client/transfers/local-names.ts';
import { inParallel } from '../../client/transfers/parallel.ts';
import { parallelTransfers } from '../../client/transfers/run-files.ts';
import { startTransferProgress } from '../../terminal/transfer-progress.ts';

export interface Download {
  /** The path below the folder. */
  name: string;
  url: string;
  size?: number | null;
}

/**
 * Downloads files into a folder, several at a time.
 * @throws UsageError before anything is written when a file exists already and `force` is false
 */
export async function saveDownloads(context: Context, folder: LocalFolder, downloads: readonly Download[], force: boolean): Promise<void> {
  const client = await context.client();
  checkNames(downloads.map(({ name }) => name));
  for (const { name } of downloads) folder.check(name, force);
  const progress = startTransferProgress(context.terminal, 'Downloading', context.clock);
  const { state } = progress;
  state.totalFiles = downloads.length;
  state.totalBytes = downloads.reduce((sum, { size }) => sum + (size ?? 0), 0);
  const onBytes = (count: number): void => {
    state.bytes += count;
  };
  try {
    await inParallel(downloads, parallelTransfers, context.signal, async ({ name, url, size }, signal) => {
      const knownSize = typeof size === 'number' ? { size } : {};
      const content = withByteCount((restart) => download(client, url, { ...knownSize, signal, restart }), onBytes);
      await folder.write(name, content, { replace: force, signal });
      state.files += 1;
    });
  } finally {
    progress.stop();
  }
}
