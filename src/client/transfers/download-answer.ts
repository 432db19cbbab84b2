/** Interprets the head of a download response: whether its body is the missing part of the file. Pure. */
import type { Hash } from 'node:crypto';
import { AopsError, type ErrorDetails, exitCodes } from '../../base/errors.ts';
import { ServiceAnswerError, UnavailableError } from '../errors.ts';
import { header, type ResponseHeaders } from '../limits/rate-limit.ts';

/** A digest of the whole file (RFC 9530), in base64. */
export interface Digest {
  algorithm: 'sha256' | 'sha512';
  value: string;
}

/** The progress of a download. */
export interface Position {
  received: number;
  /** Strong validator of the received part (RFC 9110, 8.8.3); without one, the download cannot be resumed. */
  etag: string | undefined;
  /** Size of the whole file in bytes, once it is known. */
  total: number | undefined;
  digest: (Digest & { hash: Hash }) | undefined;
}

export type DownloadStep =
  /** The body is the file from byte `from` on. */
  | { next: 'take'; from: number; total: number | undefined; etag: string | undefined; digest: Digest | undefined }
  /** Another request may succeed. */
  | { next: 'again'; error: AopsError; startOver: boolean }
  | { next: 'fail'; error: AopsError };

/** @param size size of the file in bytes, if the service reported it before */
export function examine(
  status: number,
  headers: ResponseHeaders,
  position: Position,
  size: number | undefined,
  details: ErrorDetails,
): DownloadStep {
  if (status === 200 || status === 206) {
    const content = status === 200 ? wholeContent(headers) : partContent(headers, position);
    if (content === undefined) {
      const error = new UnavailableError('The service sent a different part of the file than the requested one.', details);
      return position.received > 0 ? { next: 'again', error, startOver: true } : { next: 'fail', error };
    }
    const encoding = header(headers, 'content-encoding') ?? 'identity';
    if (encoding !== 'identity')
      return { next: 'fail', error: new UnavailableError('The service sent the file compressed, which was not requested.', details) };
    if (size !== undefined && content.total !== undefined && content.total !== size)
      return { next: 'fail', error: fileChanged(size, content.total, details) };
    return content;
  }
  // The file being resumed was removed or changed.
  if (position.received > 0 && (status === 412 || status === 416))
    return { next: 'again', error: changedMeanwhile(details), startOver: true };
  const error = refusal(status, headers, details);
  return status === 408 || status === 429 || status >= 500 ? { next: 'again', error, startOver: false } : { next: 'fail', error };
}

/** The new content does not match the part already received. */
export const changedMeanwhile = (details: ErrorDetails): UnavailableError =>
  new UnavailableError('The file changed while it was downloaded.', details, undefined, 'Run the command again.');

function wholeContent(headers: ResponseHeaders): Extract<DownloadStep, { next: 'take' }> {
  const etag = header(headers, 'etag');
  return {
    next: 'take',
    from: 0,
    total: wholeNumber(header(headers, 'content-length')),
    etag: etag?.startsWith('"') ? etag : undefined,
    // In a response with status 200, both cover the whole file.
    digest: readDigest(header(headers, 'repr-digest')) ?? readDigest(header(headers, 'content-digest')),
  };
}

/** The missing part, if it provably belongs to the received part: the same strong tag, from the next byte to the same end. */
function partContent(headers: ResponseHeaders, position: Position): Extract<DownloadStep, { next: 'take' }> | undefined {
  const [, start, end, size] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(header(headers, 'content-range') ?? '') ?? [];
  const total = Number(size);
  const isSameFile = position.etag !== undefined && header(headers, 'etag') === position.etag;
  if (!isSameFile || position.received === 0 || Number(start) !== position.received || Number(end) !== total - 1) return undefined;
  if (position.total !== undefined && total !== position.total) return undefined;
  return { next: 'take', from: position.received, total, etag: position.etag, digest: undefined };
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

/** The strongest supported digest in a field: `sha-256=:base64:, sha-512=:base64:`. */
export function readDigest(field: string | undefined): Digest | undefined {
  for (const algorithm of ['sha512', 'sha256'] as const) {
    const name = algorithm.replace('sha', 'sha-');
    const value = new RegExp(`(?:^|,)\\s*${name}=:([A-Za-z0-9+/]+={0,2}):`).exec(field ?? '')?.[1];
    if (value !== undefined) return { algorithm, value };
  }
  return undefined;
}

export function fileChanged(expectedSize: number, size: number, details: ErrorDetails): AopsError {
  return new AopsError(`The file has ${size} bytes, not the ${expectedSize} that the service reported before.`, {
    code: 'file_changed',
    exit: exitCodes.unavailable,
    hint: 'It may have just been written. Run the command again.',
    details,
  });
}

function refusal(status: number, headers: ResponseHeaders, details: ErrorDetails): ServiceAnswerError {
  const target = header(headers, 'location') ?? '';
  const redirect = status >= 300 && status < 400;
  const location = URL.canParse(target) ? new URL(target).origin : 'another address';
  const message = `The file could not be downloaded: the service answered ${status}${redirect ? ` with a redirect to ${location}, and aops does not follow redirects` : ''}.`;
  return new ServiceAnswerError(status, { error: 'download_failed', message }, details);
}
