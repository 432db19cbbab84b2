/** Archives of files, as aops sends and receives them. */
import { createHash } from 'node:crypto';
import { readTarFiles } from '../../src/base/tar/tar-files.ts';
import { extendedHeader, paxRecord, tarEnd, tarHeader, tarPadding } from './tar-bytes.ts';

export const sumOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** The bytes of one file in an archive. @param sha256 its checksum, if it is not that of the content */
export function tarFile(path: string, content: string | Uint8Array, sha256: string | undefined = sumOf(content)): Buffer {
  const bytes = Buffer.from(content);
  const records = extendedHeader(paxRecord('path', path) + paxRecord('AOPS.sha256', sha256));
  const header = tarHeader({ name: 'file', type: 'file', size: bytes.length, mode: 0o644, modifiedAt: 0 });
  return Buffer.concat([records, header, bytes, tarPadding(bytes.length)]);
}

/** An archive of files by their paths. */
export const tarOf = (files: Readonly<Record<string, string | Uint8Array>>): Buffer =>
  Buffer.concat([...Object.entries(files).map(([path, content]) => tarFile(path, content)), tarEnd()]);

/** The files of an archive, with their content as text. */
export async function untar(bytes: Uint8Array): Promise<{ path: string; text: string; isIntact: boolean }[]> {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  const files: { path: string; text: string; isIntact: boolean }[] = [];
  for await (const { path, sha256, content } of readTarFiles(source())) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const whole = Buffer.concat(chunks);
    files.push({ path, text: whole.toString(), isIntact: sumOf(whole) === sha256 });
  }
  return files;
}
