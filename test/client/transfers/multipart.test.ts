/** The bytes of forms with a file. */
import { describe, expect, it } from 'vitest';
import { multipartForm } from '../../../src/client/transfers/multipart.ts';

const form = (fields: Record<string, string>, content = 'abc', names = { name: 'file', filename: 'a.txt' }) =>
  multipartForm(fields, {
    ...names,
    size: content.length,
    read: async (buffer) => {
      Buffer.from(content).copy(buffer);
    },
  });

describe('a form', () => {
  it('contains its fields and its file', async () => {
    const { contentType, body } = await form({ path: '/workspace/a', mode: 'x' });
    const [, boundary = ''] = /^multipart\/form-data; boundary=(aops-[0-9a-f]{64})$/.exec(contentType) ?? [];
    const data = await new Response(body as Uint8Array<ArrayBuffer>, { headers: { 'content-type': contentType } }).formData();
    expect([...data.keys()]).toEqual(['path', 'mode', 'file']);
    expect([data.get('path'), data.get('mode')]).toEqual(['/workspace/a', 'x']);
    const file = data.get('file') as File;
    expect([file.name, file.type, await file.text()]).toEqual(['a.txt', 'application/octet-stream', 'abc']);
    expect(Buffer.from(body).toString()).toMatch(new RegExp(`^--${boundary}\r\n[^]*\r\n--${boundary}--\r\n$`));
  });

  it('has a boundary that depends only on its content', async () => {
    const boundaries = await Promise.all([form({}), form({}), form({ path: 'b' }), form({}, 'xyz')]);
    const [first, same, ...otherBoundaries] = boundaries.map(({ contentType }) => contentType);
    expect(same).toBe(first);
    expect(new Set([first, ...otherBoundaries]).size).toBe(3);
  });

  it('escapes names', async () => {
    const { body } = await form({ 'a"b': '"' }, 'abc', { name: 'c\rd', filename: 'e\nf"' });
    const text = Buffer.from(body).toString();
    expect(text).toContain('name="a%22b"\r\n\r\n"\r\n');
    expect(text).toContain('name="c%0Dd"; filename="e%0Af%22"\r\n');
  });
});
