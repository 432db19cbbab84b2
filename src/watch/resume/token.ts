/**
 * Resume tokens: the position of a reader in a stream of events, as a short text for programs to store. A token contains IDs, counts,
 * and the title of a pending request, but no credentials. It needs no team and no address: the IDs in it are unique everywhere.
 */
import { crc32 } from 'node:zlib';
import { UsageError } from '../../base/errors.ts';
import { type RunPosition, readRunPosition, writeRunPosition } from './run-position.ts';
import { TokenReader, TokenWriter } from './token-bytes.ts';

/** A position in a stream of the events of one or several runs. */
export interface RunsPoint {
  readonly stream: 'runs';
  /** The number of the last event. */
  readonly seq: number;
  /** Run IDs and positions. A run that is not in the map is read from its beginning. */
  readonly runs: ReadonlyMap<string, RunPosition>;
}

export type ResumePoint = RunsPoint;

/** The first characters of a token: `r`, and the version of what follows. */
const prefix = 'r1';
/** The numbers that stand for the streams in a token. */
const streamCodes: Record<ResumePoint['stream'], number> = { runs: 1 };
const checksumBytes = 4;
/** The longest token, in characters; enough for 20,000 runs. */
const longestToken = 4 * 1_048_576;

export function encodeToken(point: ResumePoint): string {
  const writer = new TokenWriter().number(streamCodes[point.stream]).number(point.seq).number(point.runs.size);
  for (const [id, position] of point.runs) writeRunPosition(writer.id(id), position);
  const content = writer.end();
  const checksum = Buffer.alloc(checksumBytes);
  checksum.writeUInt32BE(crc32(content));
  return prefix + Buffer.concat([content, checksum]).toString('base64url');
}

/** The position in a token. @throws UsageError `resume_token_invalid` for anything else */
export function decodeToken(token: string): ResumePoint {
  const text = token.trim();
  if (/^r[2-9]\w/.test(text))
    throw invalidToken('The resume token was created by a newer version of aops.', 'Update aops on this machine.');
  if (!text.startsWith(prefix) || text.length > longestToken || !/^[\w-]+$/.test(text)) throw invalidToken();
  const bytes = Buffer.from(text.slice(prefix.length), 'base64url');
  const content = bytes.subarray(0, -checksumBytes);
  if (bytes.length <= checksumBytes || crc32(content) !== bytes.readUInt32BE(content.length)) throw invalidToken();
  try {
    return decodeContent(new TokenReader(content));
  } catch (error) {
    if (error instanceof RangeError) throw invalidToken();
    throw error;
  }
}

function decodeContent(reader: TokenReader): ResumePoint {
  if (reader.number() !== streamCodes.runs) throw new RangeError('The stream is unknown.');
  const seq = reader.number();
  const runs = new Map<string, RunPosition>();
  for (let remaining = reader.number(); remaining > 0; remaining -= 1) runs.set(reader.id(), readRunPosition(reader));
  if (!reader.isAtEnd) throw new RangeError('Bytes follow the end.');
  return { stream: 'runs', seq, runs };
}

const invalidToken = (
  message = 'This is not a resume token, or a part of it is missing.',
  hint = 'Pass the `resume` field of the last event that you have processed, unchanged.',
): UsageError => new UsageError(message, hint, 'resume_token_invalid');

/**
 * The position in a token for the stream of a single run.
 * @throws UsageError `resume_token_invalid` for a text that is not a token, `resume_token_foreign` for the token of another stream
 */
export function runPoint(token: string, runId: string): { seq: number; position: RunPosition } {
  const { seq, runs } = decodeToken(token);
  const position = runs.get(runId);
  if (position !== undefined && runs.size === 1) return { seq, position };
  const [firstId] = runs.keys();
  const owner = runs.size === 1 ? `run ${firstId}` : `a stream of ${runs.size} runs`;
  throw new UsageError(
    `The resume token belongs to ${owner}, not to run ${runId}.`,
    'Pass the token with the same runs as the command that printed it.',
    'resume_token_foreign',
  );
}
