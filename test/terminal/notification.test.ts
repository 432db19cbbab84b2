import { describe, expect, it } from 'vitest';
import { notificationRoute, notificationSequence } from '../../src/terminal/notification.ts';
import { fakeTerminal, hostileInput } from './fake-streams.ts';

const iterm = { TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' };

describe('the sequence for a terminal', () => {
  it.each<[Record<string, string>, string | undefined]>([
    [iterm, 'osc9'],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'WarpTerminal' }, 'osc9'],
    [{ TERM: 'xterm-256color', LC_TERMINAL: 'iTerm2' }, 'osc9'],
    [{ TERM: 'xterm-kitty' }, 'osc99'],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'vscode' }, 'osc99'],
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'WezTerm' }, 'osc777'],
    [{ TERM: 'xterm-ghostty' }, 'osc777'],
    [{ TERM: 'foot' }, 'osc777'],
    [{ TERM: 'rxvt-unicode-256color' }, 'osc777'],
    [{ TERM: 'xterm-256color', VTE_VERSION: '7600' }, 'osc777'],
    [{ TERM: 'xterm-256color', WT_SESSION: 'x' }, 'osc777'],
    // These only ring the bell.
    [{ TERM: 'xterm-256color', TERM_PROGRAM: 'Apple_Terminal' }, undefined],
    [{ TERM: 'alacritty' }, undefined],
    [{ TERM: 'xterm-256color' }, undefined],
    [{ TERM: 'linux', WT_SESSION: 'x' }, undefined],
    [{ TERM: 'dumb', WT_SESSION: 'x' }, undefined],
    [{ TERM: 'screen', STY: '1.pts', KITTY_WINDOW_ID: '1' }, undefined],
    [{ TERM: 'xterm-kitty', ZELLIJ: '0' }, undefined],
  ])('%j -> %s', (env, protocol) => {
    expect(notificationRoute(env)).toEqual({ protocol, throughTmux: false });
  });

  it('goes through tmux, in the form that the terminal around it understands', () => {
    const tmux = { TERM: 'tmux-256color', TERM_PROGRAM: 'tmux', TMUX: '/tmp/tmux-0/default,1,0' };
    expect(notificationRoute(tmux)).toEqual({ protocol: 'osc777', throughTmux: true });
    expect(notificationRoute({ ...tmux, LC_TERMINAL: 'iTerm2' })).toEqual({ protocol: 'osc9', throughTmux: true });
    expect(notificationSequence('done', tmux)).toBe('\u001bPtmux;\u001b\u001b]777;notify;aops;done\u0007\u001b\\\u0007');
  });
});

describe('a notification', () => {
  it('ends with the bell', () => {
    expect(notificationSequence('done', iterm)).toBe('\u001b]9;aops: done\u0007\u0007');
    expect(notificationSequence('done', { TERM: 'xterm-kitty' })).toBe('\u001b]99;;aops: done\u001b\\\u0007');
    expect(notificationSequence('done', { TERM: 'foot' })).toBe('\u001b]777;notify;aops;done\u0007\u0007');
    expect(notificationSequence('done', { TERM: 'alacritty' })).toBe('\u0007');
  });

  it('contains no control characters or further fields, and is short', () => {
    const sequence = notificationSequence(`${hostileInput};x\n${'y'.repeat(500)}`, { TERM: 'foot' });
    const [start, end] = ['\u001b]777;notify;aops;', '\u0007\u0007'];
    expect([sequence.slice(0, start.length), sequence.slice(-end.length)]).toEqual([start, end]);
    const text = sequence.slice(start.length, -end.length);
    expect(text).toMatch(/^a\^\[\[31mb.*,x\\nyyy/);
    expect(text).toMatch(/^[^\p{Cc}\p{Bidi_Control};]{1,140}$/u);
  });

  it('goes to whichever output is a terminal, and nowhere else', () => {
    const outputs = (fake: ReturnType<typeof fakeTerminal>): string[] => {
      fake.terminal.notify('done');
      return [fake.stdout(), fake.stderr()];
    };
    expect(outputs(fakeTerminal({ tty: true }))).toEqual(['', '\u0007']);
    expect(outputs(fakeTerminal({ tty: { stdout: true } }))).toEqual(['\u0007', '']);
    expect(outputs(fakeTerminal({ tty: { stdin: true } }))).toEqual(['', '']);
    expect(outputs(fakeTerminal({ tty: true, env: { CI: '1' } }))).toEqual(['', '']);
  });

  it('contains no secret', () => {
    const fake = fakeTerminal({ tty: true, env: iterm });
    fake.terminal.protect('sk-12345678');
    fake.terminal.notify('failed: sk-12345678');
    expect(fake.stderr()).toContain('failed: ');
    expect(fake.stderr()).not.toContain('12345678');
  });
});
