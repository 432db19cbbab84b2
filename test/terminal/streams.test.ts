import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { type ColorMode, wantsColor } from '../../src/terminal/capabilities.ts';
import type { OutputStream } from '../../src/terminal/streams.ts';
import { fakeTerminal, hostileInput, hostileShown } from './fake-streams.ts';

describe('colour', () => {
  test.each<[ColorMode, boolean, Record<string, string>, boolean]>([
    ['auto', true, {}, true],
    ['auto', false, {}, false],
    ['auto', true, { NO_COLOR: '1' }, false],
    ['auto', true, { NO_COLOR: '' }, true],
    ['auto', true, { NO_COLOR: '0' }, false],
    ['auto', false, { FORCE_COLOR: '1' }, true],
    ['auto', false, { FORCE_COLOR: '' }, false],
    ['auto', true, { FORCE_COLOR: '0' }, false],
    ['auto', true, { FORCE_COLOR: 'false' }, false],
    ['auto', true, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    ['auto', true, { TERM: 'dumb' }, false],
    ['auto', true, { CI: 'true' }, false],
    ['auto', true, { CI: 'false' }, true],
    ['auto', false, { CI: 'true', FORCE_COLOR: '1' }, true],
    ['always', false, { NO_COLOR: '1', TERM: 'dumb', CI: '1' }, true],
    ['never', true, { FORCE_COLOR: '3' }, false],
  ])('%s, terminal %s, %j -> %s', (mode, isTTY, env, expected) => {
    expect(wantsColor(mode, isTTY, env)).toBe(expected);
  });

  test('is decided for each stream separately', () => {
    const { terminal } = fakeTerminal({ tty: { stdout: false, stderr: true } });
    expect([terminal.out.color, terminal.err.color]).toEqual([false, true]);
    terminal.configure({ color: 'always' });
    expect([terminal.out.color, terminal.err.color]).toEqual([true, true]);
  });
});

describe('markup', () => {
  test('turns styles into colours, but not sequences in data', async () => {
    const fake = fakeTerminal({ tty: true });
    const { bold, error, status } = await fake.terminal.out.styles();
    await fake.terminal.line(`${bold(`x ${error('y')} z`)} ${status('completed')} ${status('odd')} ${hostileInput}`);
    expect(fake.stdout()).toBe(`\u001b[1mx \u001b[31my\u001b[39m z\u001b[22m \u001b[32mcompleted\u001b[39m odd ${hostileShown}\n`);
  });

  test('sanitises data inside a style too', async () => {
    const fake = fakeTerminal({ color: 'always' });
    const { dim } = await fake.terminal.out.styles();
    await fake.terminal.write(dim('\u001b[0m\u001b[8mhidden'));
    expect(fake.stdout()).toBe('\u001b[2m^[[0m^[[8mhidden\u001b[22m');
  });

  test('does nothing without colour', async () => {
    const { bold, status } = await fakeTerminal({ tty: true, env: { NO_COLOR: '1' } }).terminal.out.styles();
    expect(bold('x') + status('failed')).toBe('xfailed');
  });
});

describe('writing', () => {
  test('sends data to stdout and everything else to stderr', async () => {
    const fake = fakeTerminal();
    await fake.terminal.line('data');
    fake.terminal.note('note');
    fake.terminal.warn('warning');
    expect(fake.stdout()).toBe('data\n');
    expect(fake.stderr()).toBe('note\nwarning\n');
  });

  test('silences only notes with --quiet', async () => {
    const fake = fakeTerminal({ quiet: true });
    fake.terminal.note('note');
    fake.terminal.warn('warning');
    await fake.terminal.line('data');
    expect(fake.stdout() + fake.stderr()).toBe('data\nwarning\n');
  });

  test('sanitises notes', () => {
    const fake = fakeTerminal({ tty: true });
    fake.terminal.note(hostileInput);
    expect(fake.stderr()).toBe(`${hostileShown}\n`);
  });

  test('leaves data exact for programs and makes it harmless on a terminal', async () => {
    const [pipe, tty] = [fakeTerminal(), fakeTerminal({ tty: true })];
    for (const { terminal } of [pipe, tty]) {
      await terminal.data(`${hostileInput}\n`);
      await terminal.json({ text: '\u009b' });
    }
    expect(pipe.stdout()).toBe(`${hostileInput}\n{"text":"\u009b"}\n`);
    expect(tty.stdout()).toBe(`${hostileShown}\n{"text":"\\u009b"}\n`);
  });

  test('never sends secrets to stderr, whatever their encoding', () => {
    const fake = fakeTerminal();
    const secret = 'aops_live_s3cret/99';
    fake.terminal.protect(secret);
    fake.terminal.protect('short');
    fake.terminal.note(`a ${secret} b ${Buffer.from(secret).toString('base64')} c ${encodeURIComponent(secret)} short`);
    expect(fake.stderr()).toBe('a [secret] b [secret] c [secret] short\n');
  });

  test('waits until a slow reader has read what was written', async () => {
    const releases: (() => void)[] = [];
    const slowStream: OutputStream = new Writable({
      highWaterMark: 4,
      write: (_chunk, _encoding, callback) => void releases.push(callback),
    });
    const { terminal } = fakeTerminal({ stdout: slowStream });
    let isWritten = false;
    const writing = terminal.write('more than four').then(() => {
      isWritten = true;
    });
    await new Promise(setImmediate);
    expect(isWritten).toBe(false);
    releases[0]?.();
    await writing;
    expect(isWritten).toBe(true);
  });

  test('ends the output silently when the reader has closed the pipe', async () => {
    const closedStream: OutputStream = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, callback) => callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    });
    const fake = fakeTerminal({ stdout: closedStream });
    await fake.terminal.line('first');
    await new Promise(setImmediate);
    expect(fake.terminal.brokenPipe.aborted).toBe(true);
    await fake.terminal.line('second');
    await fake.terminal.flush();
    expect(fake.stderr()).toBe('');
  });

  test('reports a full disk as an error', async () => {
    const fullStream: OutputStream = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, callback) => callback(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })),
    });
    const { terminal } = fakeTerminal({ stdout: fullStream });
    await expect(terminal.line('first')).rejects.toMatchObject({ code: 'output_failed', exit: 1 });
    expect(terminal.brokenPipe.aborted).toBe(false);
  });
});

test.each([
  [{ tty: true }, true],
  [{ tty: { stdin: true, stdout: false, stderr: true } }, true],
  [{ tty: { stdin: true, stdout: true, stderr: false } }, false],
  [{ tty: { stdin: false, stdout: true, stderr: true } }, false],
  [{ tty: true, env: { CI: '1' } }, false],
  [{ tty: true, env: { TERM: 'dumb' } }, false],
  [{ tty: true, input: false }, false],
])('interactive %j -> %s', (options, expected) => {
  expect(fakeTerminal(options).terminal.interactive).toBe(expected);
});

test.each([
  [{ columns: 40 }, 40],
  [{ columns: 0 }, 80],
  [{ env: { COLUMNS: '100' } }, 100],
  [{ env: { COLUMNS: 'wide' } }, 80],
  [{ columns: 40, env: { COLUMNS: '100' } }, 40],
])('columns %j -> %s', (options, expected) => {
  expect(fakeTerminal(options).terminal.out.columns).toBe(expected);
});

test('libraries that draw on a terminal without a size see a usable width, also after it was resized', () => {
  const { stream } = fakeTerminal({ tty: true, columns: 0 }).terminal.err;
  expect(stream.columns).toBe(80);
  stream.columns = 120;
  expect(stream.columns).toBe(120);
  stream.columns = 0;
  expect(stream.columns).toBe(80);
});
