/** Writes the screenshots of a run to one HTML file, picture by picture, so that large files need little memory. */
import path from 'node:path';
import { version } from '../../../base/version.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { LocalFolder } from '../../../client/transfers/local-files.ts';
import type { Run, ScreenshotToolExecution } from '../../../interface/types.ts';
import { startTransferProgress } from '../../../terminal/transfer-progress.ts';
import type { Shot } from '../shots.ts';
import { pageFoot, pageFrame, pageHead } from './page.ts';
import { frames } from './pictures.ts';

export interface FilmStripOptions {
  run: Run;
  shots: readonly Shot[];
  /** Whether to overwrite an existing file. */
  force: boolean;
  /** Reads the timeline again. */
  renewTimeline: () => Promise<readonly ScreenshotToolExecution[]>;
}

/** Checks that the film strip can be written. @throws UsageError when the file exists and must not be overwritten */
export const checkFilmStrip = (file: string, force: boolean): void => place(file).folder.check(place(file).name, force);

/**
 * Writes the film strip, completely or not at all, and returns how many pictures are missing.
 * @param file absolute path
 */
export async function writeFilmStrip(
  context: Context,
  file: string,
  options: FilmStripOptions,
): Promise<{ bytes: number; missing: number }> {
  const { run, shots, force, renewTimeline } = options;
  const { signal } = context;
  const client = await context.client();
  const progress = startTransferProgress(context.terminal, 'Downloading', context.clock);
  progress.state.totalFiles = shots.length;
  let missing = 0;
  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(pageHead(run, shots));
    for await (const frame of frames(client, shots, renewTimeline, signal)) {
      for (const text of pageFrame(frame, shots[0]?.startedAt)) {
        const bytes = Buffer.from(text);
        progress.state.bytes += bytes.length;
        yield bytes;
      }
      missing += [frame.before, frame.after].filter((picture) => picture !== undefined && 'missing' in picture).length;
      progress.state.files += 1;
    }
    yield Buffer.from(pageFoot(version));
  }
  const { folder, name } = place(file);
  try {
    return { bytes: await folder.write(name, content, { replace: force, signal }), missing };
  } finally {
    progress.stop();
  }
}

const place = (file: string) => ({ folder: new LocalFolder(path.dirname(file)), name: path.basename(file) });
