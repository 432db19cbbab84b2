/** Request bodies: read up to a limit, then parsed as what their operation takes. */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { systemClock } from '../../base/clock.ts';
import { ServiceError } from '../errors.ts';

export const jsonLimit = 1024 * 1024;
/** A file of 10 MB, and what multipart puts around it. */
export const uploadLimit = 10 * 1024 * 1024 + 64 * 1024;
/** Of a body that is too long, so much is read and thrown away: a client that still writes may miss the answer. */
const drainLimit = 64 * 1024 * 1024;
const readTimeout = 60_000;
const deepest = 64;

/** The bytes of a body. Throws 413 `body_too_large`, 400 `body_timeout`. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = new ServiceError(413, 'body_too_large', `The body is larger than ${limit} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > drainLimit) throw tooLarge;
  const timeout = new AbortController();
  const late = systemClock.sleep(readTimeout, timeout.signal).then(() => {
    throw new ServiceError(400, 'body_timeout', `The body did not arrive within ${readTimeout / 1_000} seconds.`);
  });
  late.catch(() => undefined);
  try {
    const bytes = await Promise.race([collect(request, limit), late]);
    if (bytes === undefined) throw tooLarge;
    return bytes;
  } finally {
    timeout.abort();
  }
}

async function collect(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The socket must outlive this loop: an answer is still to be written to it.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else if (size > drainLimit) break;
  }
  return size <= limit ? Buffer.concat(chunks, size) : undefined;
}

/** What a Content-Type is without its parameters. */
export const contentEssence = (contentType: string | undefined): string => (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/** The JSON value of a body; undefined for an empty one. Throws 400 `invalid_request`. */
export function parseJson(bytes: Buffer, contentType: string | undefined): unknown {
  if (bytes.length === 0) return undefined;
  if (contentEssence(contentType) !== 'application/json') {
    throw new ServiceError(400, 'invalid_request', 'The body must be JSON, with the header "Content-Type: application/json".');
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ServiceError(400, 'invalid_request', `The body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (isDeeperThan(value, deepest)) throw new ServiceError(400, 'invalid_request', `The body is nested deeper than ${deepest} levels.`);
  return value;
}

/** Level by level, since recursion would end where the stack does. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}

/** The fields of a multipart body; files are `File` objects. Throws 400 `invalid_request`. */
export async function parseMultipart(bytes: Buffer, contentType: string | undefined): Promise<Record<string, unknown>> {
  if (contentEssence(contentType) !== 'multipart/form-data') {
    throw new ServiceError(400, 'invalid_request', 'The body must be multipart/form-data.');
  }
  try {
    const form = await new Response(bytes, { headers: { 'Content-Type': contentType ?? '' } }).formData();
    return Object.fromEntries(form);
  } catch {
    throw new ServiceError(400, 'invalid_request', 'The multipart body could not be read; is its boundary right, and is it complete?');
  }
}
