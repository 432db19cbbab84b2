/** Writes the screenshots of a run to one HTML file, picture by picture, so that large files need little memory. */
import { version } from '../../../base/version.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { saveContent } from '../../../cli/kit/files.ts';
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
  try {
    return { bytes: await saveContent(context, content, file, force), missing };
  } finally {
    progress.stop();
  }
}
