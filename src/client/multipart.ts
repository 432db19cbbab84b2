/**
 * A multipart/form-data body (RFC 7578) whose bytes depend on its content alone. Node's own FormData draws a random
 * boundary, and a change that is sent again under its key has to be the same to the last byte.
 */
import { createHash } from 'node:crypto';

export interface FilePart {
  name: string;
  filename: string;
  content: Uint8Array;
}

/** The body of a form with text fields and one file, and its content type. */
export function multipartForm(fields: Record<string, string>, file: FilePart): { contentType: string; body: Uint8Array } {
  const boundary = `aops-${createHash('sha256').update(file.content).update(JSON.stringify(fields)).digest('hex')}`;
  const texts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`,
  );
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(file.name)}"; filename="${quoted(file.filename)}"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(texts.join('') + head), file.content, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}

/** As the HTML standard escapes names in form data. */
const quoted = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
