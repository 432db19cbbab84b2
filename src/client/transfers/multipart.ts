/**
 * A multipart/form-data body (RFC 7578) whose bytes depend only on its content. Node's own FormData uses a random
 * boundary, but a change that is sent again under its key has to be identical to the last byte.
 */
import { createHash } from 'node:crypto';

export interface FilePart {
  name: string;
  filename: string;
  /** Bytes. */
  size: number;
  /** Fills a buffer of this size with the content. */
  read: (buffer: Uint8Array) => Promise<void>;
}

/** The body of a form with text fields and one file, and its content type. The content is in memory only once, in the body. */
export async function multipartForm(fields: Record<string, string>, file: FilePart): Promise<{ contentType: string; body: Uint8Array }> {
  // All boundaries have the same length, so the place of the content is known before the boundary.
  const placeholder = frame(fields, file, boundaryOf(''));
  const start = placeholder.head.length;
  const end = start + file.size;
  const body = Buffer.allocUnsafe(end + placeholder.tail.length);
  const content = body.subarray(start, end);
  await file.read(content);
  const boundary = boundaryOf(createHash('sha256').update(content).update(JSON.stringify(fields)).digest('hex'));
  const { head, tail } = frame(fields, file, boundary);
  head.copy(body);
  tail.copy(body, end);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}

const boundaryOf = (digest: string): string => `aops-${digest.padEnd(64, '0')}`;

/** The bytes before and after the content. */
function frame(fields: Record<string, string>, file: FilePart, boundary: string): { head: Buffer; tail: Buffer } {
  const texts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${quote(name)}"\r\n\r\n${value}\r\n`,
  );
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quote(file.name)}"; filename="${quote(file.filename)}"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  return { head: Buffer.from(texts.join('') + head), tail: Buffer.from(`\r\n--${boundary}--\r\n`) };
}

/** A name in form data, escaped as in the HTML standard. */
const quote = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
