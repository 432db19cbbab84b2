/** The values of --resume: a token, a file that contains printed events, or the position that aops remembers. */
import { open } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { isObject, jsonValue } from '../../base/values.ts';
import type { Context } from '../kit/context.ts';
import { text } from '../kit/flags.ts';
import { PositionFile } from './position-file.ts';

export const resumeFlag = text(
  'TOKEN|@FILE|auto',
  'Continue after the event with this `resume` token, after the last event in a file, or where the last watch with --resume auto stopped; auto:NAME gives each of several readers a position of its own',
);

/** The place at which a stream continues. */
export interface ResumeSource {
  /** The token; undefined to start from the beginning, because nothing was read yet. */
  token: string | undefined;
  /** The file that remembers the position of --resume auto. */
  positions?: PositionFile;
  /** Whether the file ends with a part of an event, whose line has to be ended before the next event. */
  endsInsideLine?: true;
}

/**
 * Resolves --resume. Close the `positions` of the result.
 * @param stream the kind of the stream and the ID that it belongs to
 * @throws UsageError for an invalid name or file, AopsError `stream_in_use`
 */
export async function resumeSource(context: Context, value: string, stream: { stream: string; id: string }): Promise<ResumeSource> {
  const [, isAuto, reader = ''] = /^(auto)(?::(.*))?$/s.exec(value) ?? [];
  if (isAuto !== undefined) {
    if (value !== 'auto' && !/^[\w.-]{1,64}$/.test(reader))
      throw new UsageError(
        `"${reader}" is not a name for a reader.`,
        'Use 1 to 64 letters, digits, and the characters . _ -, as in --resume auto:indexer.',
      );
    const positions = await PositionFile.open(context, { ...stream, reader });
    return { token: positions.token, positions };
  }
  if (!value.startsWith('@')) return { token: value };
  const file = value.slice(1);
  const { line, endsInsideLine } = await lastLine(path.resolve(context.cwd, file));
  if (line === undefined) return { token: undefined, ...(endsInsideLine && { endsInsideLine }) };
  const event = jsonValue(line);
  if (!isObject(event) || typeof event.resume !== 'string')
    throw new UsageError(
      `The last line of ${file} is not an event with a resume token.`,
      'The file must contain the events of this stream, as printed with -o ndjson. Without a token in the last one, pass an earlier `resume`.',
      'resume_token_invalid',
    );
  return { token: event.resume, ...(endsInsideLine && { endsInsideLine }) };
}

/** Bytes that are read at first; more if the last line is longer. */
const firstPieceBytes = 65_536;

/** The last complete line of a file that is not empty; none for a file without lines, or without a file. */
async function lastLine(file: string): Promise<{ line: string | undefined; endsInsideLine: true | undefined }> {
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      for (let length = Math.min(firstPieceBytes, size); ; length = Math.min(length * 4, size)) {
        const piece = Buffer.alloc(length);
        await handle.read(piece, 0, length, size - length);
        const end = piece.lastIndexOf('\n');
        const completeLines = piece
          .subarray(0, end + 1)
          .toString('utf8')
          .trimEnd();
        const start = completeLines.lastIndexOf('\n') + 1;
        const endsInsideLine = end + 1 < length ? true : undefined;
        if (length === size || start > 0) return { line: completeLines.slice(start) || undefined, endsInsideLine };
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isAbsent(error)) return { line: undefined, endsInsideLine: undefined };
    throw readFailure(error, file);
  }
}
