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
  size?: number | null;
  /** Calls `save` with the URL, and again with a new one if that has expired. */
  withUrl(save: (url: string) => Promise<void>): Promise<void>;
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
    await inParallel(downloads, parallelTransfers, context.signal, async ({ name, size, withUrl }, signal) => {
      const knownSize = typeof size === 'number' ? { size } : {};
      await withUrl(async (url) => {
        const content = withByteCount((restart) => download(client, url, { ...knownSize, signal, restart }), onBytes);
        await folder.write(name, content, { replace: force, signal });
      });
      state.files += 1;
    });
  } finally {
    progress.stop();
  }
}
