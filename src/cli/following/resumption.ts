/** Where a stream continues, and where its position is remembered, for commands with --resume. */
import type { Terminal } from '../../terminal/streams.ts';
import type { Context } from '../kit/context.ts';
import { wholeToken } from './point-journal.ts';
import type { PositionFile } from './position-file.ts';
import { resumeSource } from './resume-source.ts';

export interface Resumption<Point> {
  /** The position to continue after; undefined to start from the beginning. */
  point: Point | undefined;
  /** Remembers the position after an event that has left this process. */
  positions?: PositionFile;
  /** Ends an incomplete line before the first event. */
  endsInsideLine?: true;
}

/**
 * Resolves --resume. Close the `positions` of the result.
 * @param stream the kind of the stream and the ID that it belongs to
 * @param decode the position in a token
 * @throws UsageError for a token that is invalid or belongs to another stream, AopsError `stream_in_use`
 */
export async function openResumption<Point>(
  context: Context,
  value: string | undefined,
  stream: { stream: string; id: string },
  decode: (token: string) => Point,
): Promise<Resumption<Point>> {
  if (value === undefined) return { point: undefined };
  const { token, ...source } = await resumeSource(context, value, stream);
  const { positions } = source;
  try {
    return { ...source, point: token === undefined ? undefined : decode(wholeToken(context, token)) };
  } catch (error) {
    if (positions === undefined) throw error;
    // No event is lost by starting from the beginning.
    context.terminal.warn(`The stored position cannot be used, so events are read from the beginning. ${(error as Error).message}`);
    return { ...source, point: undefined };
  }
}

/** Saves the position of an event once it has left this process, so that none is lost when the process is killed. */
export async function savePosition(terminal: Terminal, positions: PositionFile | undefined, resume: string | null): Promise<void> {
  if (positions === undefined || resume === null) return;
  await terminal.flush();
  if (!terminal.brokenPipe.aborted) positions.save(resume);
}

/** Ends the use of a position. The whole position is stored, which is kept for longer than a journal. */
export const closePositions = (context: Context, positions: PositionFile | undefined): void =>
  positions?.close((token) => wholeToken(context, token));
