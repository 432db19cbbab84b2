/**
 * Resume tokens: the position of a reader in a stream of events, as a short text for programs to store. A token contains IDs, counts,
 * and the title of a pending request, but no credentials. It needs no team and no address: the IDs in it are unique everywhere.
 */
import { crc32 } from 'node:zlib';
import { UsageError } from '../../base/errors.ts';
import { codecs, type ResumePoint } from './points.ts';
import type { RunPosition } from './run-position.ts';
import { TokenReader, TokenWriter } from './token-bytes.ts';

export type { ResumePoint, RunsPoint } from './points.ts';

/** The first characters of a token: `r`, and the version of what follows. */
const prefix = 'r1';
const checksumBytes = 4;
/** Maximum length of a token, in characters; enough for 20,000 runs. */
const maxTokenLength = 4 * 1_048_576;

export function encodeToken(point: ResumePoint): string {
  const codec = codecs[point.stream];
  const writer = new TokenWriter().number(codec.code).number(point.seq);
  codec.write(writer, point as never);
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
  if (!text.startsWith(prefix) || text.length > maxTokenLength || !/^[\w-]+$/.test(text)) throw invalidToken();
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
  const code = reader.number();
  const codec = Object.values(codecs).find((each) => each.code === code);
  if (codec === undefined) throw new RangeError('The stream is unknown.');
  const point = codec.read(reader, reader.number());
  if (!reader.isAtEnd) throw new RangeError('Bytes follow the end.');
  return point;
}

const invalidToken = (
  message = 'This is not a resume token, or a part of it is missing.',
  hint = 'Pass the `resume` field of the last event that you have processed, unchanged.',
): UsageError => new UsageError(message, hint, 'resume_token_invalid');

/** What a token belongs to, in words. */
function ownerOf(point: ResumePoint): string {
  if (point.stream === 'inbox') return 'the inbox';
  if (point.stream === 'builder_run') return `builder run ${point.builderRunId}`;
  if (point.stream === 'artifact') return `artifact ${point.artifactId}`;
  if (point.stream === 'deliveries') return `webhook ${point.webhookId}`;
  if (point.stream === 'received') return 'deliveries that were received on a machine';
  if (point.stream === 'stored') return 'a stream of which only this machine knows the position';
  const [firstId] = point.runs.keys();
  return point.runs.size === 1 ? `run ${firstId}` : `a stream of ${point.runs.size} runs`;
}

/** The error for a token of another stream. @param wanted the stream that is read, in words */
export const foreignToken = (point: ResumePoint, wanted: string): UsageError =>
  new UsageError(
    `The resume token belongs to ${ownerOf(point)}, not to ${wanted}.`,
    'Pass the token to the command that printed it, with the same names and filters.',
    'resume_token_foreign',
  );

/**
 * The position in a token of a stream.
 * @param wanted the stream that is read, in words
 * @throws UsageError `resume_token_invalid` for a text that is not a token, `resume_token_foreign` for the token of another stream
 */
export function pointOf<Stream extends ResumePoint['stream']>(
  token: string,
  stream: Stream,
  wanted: string,
): Extract<ResumePoint, { stream: Stream }> {
  const point = decodeToken(token);
  if (point.stream !== stream) throw foreignToken(point, wanted);
  return point as Extract<ResumePoint, { stream: Stream }>;
}

/** The position in a token for the stream of a single run. @throws UsageError like `pointOf` */
export function runPoint(token: string, runId: string): { seq: number; position: RunPosition } {
  const point = pointOf(token, 'runs', `run ${runId}`);
  const position = point.runs.get(runId);
  if (position === undefined || point.runs.size > 1) throw foreignToken(point, `run ${runId}`);
  return { seq: point.seq, position };
}
