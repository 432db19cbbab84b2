/** Which URLs for the transfer of a file are safe to use. */
import { describe, expect, it } from 'vitest';
import { printablePath, signedUrl } from '../../../src/client/transfers/signed-url.ts';

const remote = 'https://agents.example/api';
const local = 'http://127.0.0.1:7700';

describe('a signed URL', () => {
  it.each([
    [remote, '/files/1?signature=x%2By', 'https://agents.example/files/1?signature=x%2By'],
    [remote, 'https://storage.example/1', 'https://storage.example/1'],
    [local, '/files/1', 'http://127.0.0.1:7700/files/1'],
    [local, 'http://localhost:9000/1', 'http://localhost:9000/1'],
    [local, 'http://[::1]:9000/1', 'http://[::1]:9000/1'],
    [local, 'https://storage.example/1', 'https://storage.example/1'],
    ['http://agents.example', 'http://agents.example/files/1', 'http://agents.example/files/1'],
  ])('of %s can be %s', (base, text, expected) => {
    expect(signedUrl(base, text).href).toBe(expected);
  });

  it.each([
    [remote, 'http://agents.example/files/1', 'at http://agents.example '],
    [remote, 'http://127.0.0.1:9000/1', 'at http://127.0.0.1:9000 '],
    [local, 'http://storage.example/1', 'at http://storage.example '],
    [local, 'ftp://127.0.0.1/1', 'at ftp://127.0.0.1 '],
    ['http://agents.example', 'http://storage.example/1', 'at http://storage.example '],
    [remote, 'https://user@agents.example/1?signature=secret', 'at https://agents.example '],
    [remote, 'https://:secret@agents.example/1', 'at https://agents.example '],
    [remote, 'http://[', 'an invalid URL'],
  ])('of %s cannot be %s', (base, text, expected) => {
    const message = expect.stringContaining(expected);
    expect(() => signedUrl(base, text)).toThrow(expect.objectContaining({ code: 'unsafe_url', exit: 1, message }));
    expect(() => signedUrl(base, text)).not.toThrow('secret');
  });

  it('is shown without its query and without long parts of its path', () => {
    const [short, longText] = ['x'.repeat(40), 'x'.repeat(41)];
    expect(printablePath(new URL(`https://storage.example/a/${short}/${longText}?signature=secret`))).toBe(`/a/${short}/...`);
  });
});
