import { describe, expect, it } from 'vitest';
import { supportsLinks, supportsUnicode } from '../../src/terminal/capabilities.ts';
import { hyperlink } from '../../src/terminal/link.ts';
import { resolveMarkup } from '../../src/terminal/style.ts';

const [esc, end] = ['\u001b', '\u001b\\'];

describe('a link', () => {
  it('passes the writer, which lets no other sequence pass', () => {
    expect(resolveMarkup(hyperlink('here', 'https://example.test/a b?q=é'))).toBe(
      `${esc}]8;;https://example.test/a%20b?q=%C3%A9${end}here${esc}]8;;${end}`,
    );
    expect(resolveMarkup(`${esc}]8;;https://evil.test${end}x`)).not.toContain(esc);
    // A URL that tries to end the sequence early is serialised like any other.
    const hostileLink = resolveMarkup(hyperlink('x', `https://e.test/${esc}\\${esc}[2J\u0007`));
    expect(hostileLink.split(esc)).toHaveLength(5);
    expect(hostileLink).not.toContain('\u0007');
  });

  it('can lead to an http URL as well', () => {
    expect(resolveMarkup(hyperlink('here', 'http://127.0.0.1:7777/'))).toBe(`${esc}]8;;http://127.0.0.1:7777/${end}here${esc}]8;;${end}`);
  });

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'no url', null, 7, ['https://example.test/']])('is not created for %j', (url) => {
    expect(hyperlink('text', url)).toBe('text');
  });
});

describe('capabilities', () => {
  it.each([
    [{ TERM: 'xterm-256color' }, false],
    [{ TERM: 'xterm-kitty' }, true],
    [{ TERM: 'xterm-256color', VTE_VERSION: '7200' }, true],
    [{ TERM: 'xterm-256color', VTE_VERSION: '5000' }, true],
    [{ TERM: 'xterm-256color', VTE_VERSION: '4200' }, false],
    [{ TERM: 'xterm-256color', KONSOLE_VERSION: '230400' }, true],
    [{ WT_SESSION: 'x' }, true],
    [{}, false],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' }, true],
    [{ TERM: 'tmux-256color', TERM_PROGRAM: 'iTerm.app' }, false],
    [{ TERM: 'xterm-kitty', CI: 'true' }, false],
    [{ TERM: 'dumb', FORCE_HYPERLINK: '1' }, false],
    [{ TERM: 'xterm', FORCE_HYPERLINK: '1' }, true],
    [{ TERM: 'xterm-kitty', FORCE_HYPERLINK: '0' }, false],
  ])('support links with %j: %s', (env, expected) => {
    expect(supportsLinks(true, env)).toBe(expected);
    expect(supportsLinks(false, env)).toBe(false);
  });

  it.each([
    [{ LANG: 'en_US.UTF-8' }, true],
    [{ LANG: 'de_DE.utf8' }, true],
    [{ LANG: 'en_US.UTF-8', LC_ALL: 'C' }, false],
    [{ LANG: 'C', LC_CTYPE: 'en_US.UTF-8' }, true],
    [{ LANG: 'C', LC_CTYPE: 'C', LC_ALL: 'C.UTF-8' }, true],
    [{ LANG: 'en_US.UTF-8', TERM: 'linux' }, false],
    [{ WT_SESSION: 'x' }, true],
    [{}, false],
  ])('detect from %j whether Unicode is supported: %s', (env, expected) => {
    expect(supportsUnicode(env)).toBe(expected);
  });
});
