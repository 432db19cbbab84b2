/** The files of a run in its record, with their hashes. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { readFiles } from '../../../src/cli/run-record/sandbox-files.ts';
import { newClient, scriptedServer } from '../../client/harness.ts';
import { json, reply } from '../../faults/raw-server.ts';

const { signal } = new AbortController();

/** Reads the files of a sandbox with these contents by their names. */
async function filesOf(contents: Record<string, string>, limits: { files: number; fileBytes: number; totalBytes: number }) {
  const server = (await scriptedServer()).always(
    reply(({ path: target }) => {
      const place = new URL(target, 'http://localhost').searchParams.get('path') ?? '';
      const common = { sandboxStatus: 'running', path: place, isTextFile: true };
      const content = contents[place.replace('/workspace/', '')];
      if (content !== undefined) return json(200, { data: { ...common, content, size: content.length } });
      const entries = Object.entries(contents).map(([name, text]) => {
        return { name, path: `/workspace/${name}`, type: 'file', size: text.length, modified_at: null, isTextFile: true };
      });
      return json(200, { data: { ...common, entries } });
    }),
  );
  const gaps: string[] = [];
  const files = await readFiles(newClient(server.url).client, 'r', { signal, gaps, limits });
  return { gaps, hashes: Object.fromEntries(files.map((file) => [file.path.replace('/workspace/', ''), file.sha256])) };
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

it.each([
  ['all files', { files: 3, fileBytes: 4, totalBytes: 9 }, ['a', 'b', 'c']],
  ['files that are not too large', { files: 3, fileBytes: 3, totalBytes: 9 }, ['a', 'c']],
  ['the first files that fit together', { files: 3, fileBytes: 4, totalBytes: 6 }, ['a', 'c']],
  ['the first files', { files: 2, fileBytes: 4, totalBytes: 9 }, ['a', 'b']],
])('%s have a hash within the limits', async (_, limits, hashed) => {
  const contents: Record<string, string> = { a: 'aaa', b: 'bbbb', c: 'cc' };
  const { gaps, hashes } = await filesOf(contents, limits);
  expect(hashes).toEqual(
    Object.fromEntries(Object.entries(contents).map(([name, text]) => [name, hashed.includes(name) ? hash(text) : null])),
  );
  const omitted = 3 - hashed.length;
  expect(gaps).toEqual(omitted === 0 ? [] : [`${omitted} of 3 files are listed without a hash, because there are many or they are large.`]);
});
