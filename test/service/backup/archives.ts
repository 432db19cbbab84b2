/** Archives for tests, including malicious ones. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { TarType } from '../../../src/base/tar/tar-entry.ts';
import { tarEnd, tarHeader, tarPadding, typeField, withField } from '../../support/tar-bytes.ts';

export interface Part {
  name: string;
  type?: TarType | 'hardlink';
  content?: string | Buffer;
  target?: string;
}

export const info = {
  format: 1,
  version: '9.9.9',
  schema: '0001-core',
  created_at: '2026-07-18T09:00:00.000Z',
  agents: 0,
  runs: 0,
  open_runs: 0,
};
export const first: Part = { name: 'aops-backup.json', content: JSON.stringify(info) };
export const database: Part = { name: 'aops.db', content: 'rows' };

/** The checksums of the files among the parts, as `SHA256SUMS` contains them. */
export const sumsOf = (parts: readonly Part[]): string =>
  parts
    .filter(({ type = 'file' }) => type === 'file')
    .map(({ name, content = '' }) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`)
    .join('');

/** The bytes of an entry. */
export function entryBytes({ name, type = 'file', content = '', target }: Part): Buffer {
  const body = Buffer.from(content);
  const kind = type === 'hardlink' ? 'link' : type;
  const head = tarHeader({ name, type: kind, size: body.length, mode: 0o777, modifiedAt: 0, ...(target === undefined ? {} : { target }) });
  return Buffer.concat([type === 'hardlink' ? withField(head, ...typeField, '1') : head, body, tarPadding(body.length)]);
}

/** An archive of these parts, with the right checksums unless others are specified. */
export const archive = (parts: readonly Part[], sums = sumsOf(parts)): Buffer =>
  gzip([...parts.map(entryBytes), entryBytes({ name: 'SHA256SUMS', content: sums })]);

/** An archive of these entries. */
export const gzip = (entries: readonly Buffer[]): Buffer => gzipSync(Buffer.concat([...entries, tarEnd()]));

export async function* source(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 10_000) yield bytes.subarray(start, start + 10_000);
}
