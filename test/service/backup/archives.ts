/** Archives as somebody might have written them who does not mean well. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type TarType, tarEnd, tarHeader, tarPadding } from '../../../src/service/backup/tar.ts';

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

/** An archive of these parts, with true checksums unless others are given. */
export function archive(parts: readonly Part[], sums?: string): Buffer {
  const true256 = parts
    .filter(({ type = 'file' }) => type === 'file')
    .map(({ name, content = '' }) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`)
    .join('');
  const all: Part[] = [...parts, { name: 'SHA256SUMS', content: sums ?? true256 }];
  const bytes = all.flatMap(({ name, type = 'file', content = '', target }) => {
    const body = Buffer.from(content);
    const kind = type === 'hardlink' ? 'link' : type;
    const head = tarHeader({ name, type: kind, size: body.length, mode: 0o777, modified: 0, ...(target === undefined ? {} : { target }) });
    if (type === 'hardlink') {
      head.write('1', 156);
      // Its checksum is that of a link, less the difference of the two kinds.
      head.write((Number.parseInt(head.subarray(148, 154).toString(), 8) - 1).toString(8).padStart(6, '0'), 148);
    }
    return [head, body, tarPadding(body.length)];
  });
  return gzipSync(Buffer.concat([...bytes, tarEnd()]));
}

export async function* source(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 10_000) yield bytes.subarray(start, start + 10_000);
}
