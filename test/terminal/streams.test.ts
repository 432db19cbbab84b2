import { Writable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { type ColorMode, wantsColor } from '../../src/terminal/capabilities.ts';
import { OutputSide, type OutputStream } from '../../src/terminal/sides.ts';
import { type JobControl, outputFailure, Terminal } from '../../src/terminal/streams.ts';
import { loadStyles } from '../../src/terminal/style.ts';
import { fakeTerminal, hostileInput, sanitizedHostileText } from './fake-streams.ts';

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
    ['auto', true, { CI: 'False' }, true],
    ['auto', true, { CI: '0' }, true],
    ['auto', true, { CI: '' }, true],
    ['auto', false, { CI: 'true', FORCE_COLOR: '1' }, true],
    ['always', false, { NO_COLOR: '1', TERM: 'dumb', CI: '1' }, true],
    ['never', true, { FORCE_COLOR: '3' }, false],
  ])('%s, terminal %s, %j -> %s', (mode, isTTY, env, expected) => {
    expect(wantsColor(mode, isTTY, env)).toBe(expected);
  });

  test('is decided for each stream separately', async () => {
    const { terminal } = fakeTerminal({ tty: { stdout: false, stderr: true } });
    expect([terminal.out.color, terminal.err.color]).toEqual([false, true]);
    expect((await terminal.out.styles()).bold('x')).toBe('x');
    terminal.configure({ color: 'always' });
    expect([terminal.out.color, terminal.err.color]).toEqual([true, true]);
    expect((await terminal.out.styles()).bold('x')).not.toBe('x');
    terminal.configure({ color: 'never' });
    expect([terminal.out.color, terminal.err.color]).toEqual([false, false]);
    terminal.configure({ quiet: true });
    expect([terminal.out.color, terminal.err.color]).toEqual([false, false]);
  });
});

describe('markup', () => {
  test('turns styles into colours, but not sequences in data', async () => {
    const fake = fakeTerminal({ tty: true });
    const { bold, error, status } = await fake.terminal.out.styles();
    await fake.terminal.line(`${bold(`x ${error('y')} z`)} ${status('completed')} ${status('odd')} ${hostileInput}`);
    expect(fake.stdout()).toBe(`\u001b[1mx \u001b[31my\u001b[39m z\u001b[22m \u001b[32mcompleted\u001b[39m odd ${sanitizedHostileText}\n`);
  });

  test('sanitises data inside a style too', async () => {
    const fake = fakeTerminal({ color: 'always' });
    const { dim } = await fake.terminal.out.styles();
    await fake.terminal.write(dim('\u001b[0m\u001b[8mhidden'));
    expect(fake.stdout()).toBe('\u001b[2m^[[0m^[[8mhidden\u001b[22m');
  });

  test('sanitises data in front of a style', async () => {
    const fake = fakeTerminal({ color: 'always' });
    const { bold } = await fake.terminal.out.styles();
    await fake.terminal.write(`${hostileInput}${bold('x')}`);
    expect(fake.stdout()).toBe(`${sanitizedHostileText}\u001b[1mx\u001b[22m`);
  });

  test('leaves status words plain that are names of prototype members', async () => {
    const { status } = await loadStyles(true);
    expect(['constructor', 'toString', '__proto__'].map(status)).toEqual(['constructor', 'toString', '__proto__']);
  });

  test('cannot be guessed by whoever supplies the data', async () => {
    const marks = new Set<string | undefined>();
    for (let count = 0; count < 3; count += 1) {
      vi.resetModules();
      const { linkMarkup } = await import('../../src/terminal/style.ts');
      marks.add(/\d+/.exec(linkMarkup('x', 'https://example.test/').slice('\u001b]8;'.length))?.[0]);
    }
    expect(marks.size).toBe(3);
    for (const mark of marks) expect(mark).toHaveLength(10);
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
    expect(fake.stderr()).toBe(`${sanitizedHostileText}\n`);
  });

  test('leaves data exact for programs and makes it harmless on a terminal', async () => {
    const [pipe, tty] = [fakeTerminal(), fakeTerminal({ tty: true })];
    for (const { terminal } of [pipe, tty]) {
      await terminal.data(`${hostileInput}\n`);
      await terminal.json({ text: '\u009b' });
    }
    expect(pipe.stdout()).toBe(`${hostileInput}\n{"text":"\u009b"}\n`);
    expect(tty.stdout()).toBe(`${sanitizedHostileText}\n{"text":"\\u009b"}\n`);
  });

  test('never sends secrets to stderr, whatever their encoding', () => {
    const fake = fakeTerminal();
    const secret = 'aops_live_s3cret/99';
    fake.terminal.protect(secret);
    fake.terminal.protect('short');
    fake.terminal.note(`a ${secret} b ${Buffer.from(secret).toString('base64')} c ${encodeURIComponent(secret)} short`);
    expect(fake.stderr()).toBe('a [secret] b [secret] c [secret] short\n');
  });

  test('leaves nothing of a secret that contains another one, and redacts secrets of eight characters', () => {
    for (const secrets of [
      ['secret-1', 'secret-1-and-more'],
      ['secret-1-and-more', 'secret-1'],
    ]) {
      const fake = fakeTerminal();
      for (const secret of secrets) fake.terminal.protect(secret);
      fake.terminal.note('secret-1-and-more secret-1');
      expect(fake.stderr()).toBe('[secret] [secret]\n');
    }
  });

  test('holds notes and warnings back while a prompt is on the screen', () => {
    const { terminal, stderr } = fakeTerminal();
    const release = terminal.reserveForPrompt();
    expect(terminal.prompting).toBe(true);
    terminal.note('note');
    terminal.warn('warning');
    expect(stderr()).toBe('');
    release();
    expect([terminal.prompting, stderr()]).toEqual([false, 'note\nwarning\n']);
    terminal.note('later');
    expect(stderr()).toBe('note\nwarning\nlater\n');
  });

  test('stops writing to stderr when that fails, and notes after a broken pipe', async () => {
    const { terminal, stderr } = fakeTerminal();
    terminal.out.stream.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    expect(terminal.brokenPipe.aborted).toBe(true);
    terminal.note('note');
    terminal.warn('warning');
    await terminal.line('data');
    expect(stderr()).toBe('warning\n');
    terminal.err.stream.emit('error', new Error('write EIO'));
    terminal.warn('another');
    expect(stderr()).toBe('warning\n');
  });

  test('writes nothing for an empty text, nor after a broken pipe', async () => {
    const chunks: string[] = [];
    const stdout: OutputStream = new Writable({
      write: (chunk, _encoding, callback) => {
        chunks.push(String(chunk));
        callback();
      },
    });
    const { terminal } = fakeTerminal({ stdout });
    await terminal.write('');
    await terminal.bytes(new Uint8Array());
    expect(chunks).toEqual([]);
    await terminal.write('data');
    stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await terminal.write('more');
    expect(chunks).toEqual(['data']);
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
    let isFlushed = false;
    const flushing = terminal.flush().then(() => {
      isFlushed = true;
    });
    await new Promise(setImmediate);
    expect(isFlushed).toBe(false);
    releases[0]?.();
    await writing;
    expect(isWritten).toBe(true);
    await new Promise(setImmediate);
    releases[1]?.();
    await flushing;
    expect(['drain', 'close'].map((event) => slowStream.listenerCount(event))).toEqual([0, 0]);
    expect(slowStream.listenerCount('error')).toBe(1);
  });

  test('does not wait for a stream that is closed, has ended, or has failed', async () => {
    const open = (more: object = {}): OutputStream => new Writable({ highWaterMark: 1, write: () => undefined, ...more });
    const closedOutput = open();
    closedOutput.destroy();
    const endedSide = open({ write: (_chunk: unknown, _encoding: unknown, callback: () => void) => callback() });
    endedSide.end();
    const failedOutput = open({
      autoDestroy: false,
      write: (_chunk: unknown, _encoding: unknown, callback: (error: Error) => void) =>
        callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    });
    for (const stdout of [closedOutput, failedOutput]) {
      const { terminal } = fakeTerminal({ stdout });
      await terminal.line('data');
      await terminal.flush();
    }
    const { terminal } = fakeTerminal({ stdout: endedSide });
    await terminal.flush();
    await new Promise(setImmediate);
    expect(terminal.brokenPipe.aborted).toBe(false);
    await terminal.flush();
    // It is closed while a write is in progress.
    const stuck = open();
    const flushing = fakeTerminal({ stdout: stuck }).terminal.flush();
    await new Promise(setImmediate);
    stuck.destroy();
    await flushing;
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
    for (let count = 0; count < 2; count += 1)
      await expect(terminal.line('data')).rejects.toMatchObject({ code: 'output_failed', exit: 1 });
    await new Promise(setImmediate);
    expect(terminal.brokenPipe.aborted).toBe(false);
  });

  test.each([
    ['EPIPE', false],
    ['EOF', false],
    ['ECONNRESET', false],
    ['ERR_STREAM_DESTROYED', false],
    ['ENOSPC', true],
    ['EIO', true],
  ])('regards %s as a failure: %s', (code, isFailure) => {
    const failure = outputFailure(Object.assign(new Error(code), { code }));
    expect(failure?.message).toBe(isFailure ? `The output cannot be written: ${code}` : undefined);
  });
});

test.each([
  [{ tty: true }, true],
  [{ tty: { stdin: false, stdout: false, stderr: true } }, true],
  [{ tty: { stdin: true, stdout: true, stderr: false } }, false],
  [{ tty: true, env: { CI: '1' } }, false],
  [{ tty: true, quiet: true }, false],
  [{ tty: true, env: { TERM: 'dumb' } }, false],
])('animated %j -> %s', (options, expected) => {
  expect(fakeTerminal(options).terminal.animated).toBe(expected);
});

test('job control is that of the process', () => {
  const { in: input, out, err } = fakeTerminal().terminal;
  const jobs: JobControl = { onContinue: () => () => undefined, onExit: () => () => undefined, interruptibly: (work) => work() };
  const streams = { stdin: input.stream, stdout: out.stream, stderr: err.stream, env: {} };
  expect(new Terminal({ ...streams, jobs }).jobs).toBe(jobs);
  expect(new Terminal(streams).jobs).toBeUndefined();
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
  [{ env: { COLUMNS: '0' } }, 80],
  [{ env: { COLUMNS: '-5' } }, 80],
  [{ env: { COLUMNS: '60.5' } }, 80],
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

test('a stream that is not a terminal keeps having no width of its own, and a terminal can be set up again', () => {
  expect(fakeTerminal().terminal.out.stream.columns).toBeUndefined();
  const { stream } = fakeTerminal({ tty: true, columns: 0 }).terminal.err;
  expect(new OutputSide(stream, { COLUMNS: '100' }).columns).toBe(80);
});
