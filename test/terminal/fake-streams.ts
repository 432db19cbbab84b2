import { PassThrough, type Readable, Writable } from 'node:stream';
import type { Environment } from '../../src/terminal/capabilities.ts';
import type { OutputStream } from '../../src/terminal/sides.ts';
import type { JobControl } from '../../src/terminal/streams.ts';
import { Terminal, type TerminalOptions } from '../../src/terminal/streams.ts';

export interface FakeTerminal {
  terminal: Terminal;
  stdout(): string;
  stderr(): string;
}

interface FakeOptions extends TerminalOptions {
  tty?: boolean | { stdin?: boolean; stdout?: boolean; stderr?: boolean };
  columns?: number;
  env?: Environment;
  stdout?: OutputStream;
  jobs?: JobControl;
}

/** A terminal on in-memory streams. */
export function fakeTerminal({ tty = false, columns, env = {}, stdout: customStdout, jobs, ...options }: FakeOptions = {}): FakeTerminal {
  const ttyFlags = typeof tty === 'boolean' ? { stdin: tty, stdout: tty, stderr: tty } : tty;
  const texts = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr'): OutputStream => {
    const stream = new Writable({
      write(chunk, _encoding, callback) {
        texts[name] += String(chunk);
        callback();
      },
    });
    const functions = ttyFlags[name] ? { cursorTo: () => true, moveCursor: () => true, clearLine: () => true } : {};
    return Object.assign(stream, functions, { isTTY: ttyFlags[name] === true, ...(columns === undefined ? {} : { columns }) });
  };
  const stdin = Object.assign(new PassThrough() as Readable, { isTTY: ttyFlags.stdin === true });
  const streams = { stdin, stdout: customStdout ?? output('stdout'), stderr: output('stderr'), env, ...(jobs && { jobs }) };
  return { terminal: new Terminal(streams, options), stdout: () => texts.stdout, stderr: () => texts.stderr };
}

/** Text with every kind of hostile sequence: colours, titles, clipboard, C1, bidi, carriage return. */
export const hostileInput = 'a\u001b[31mb\u001b]52;c;ZXZpbA==\u0007c\u009b2Jd\u202ee\rf\u007fg\u0000';
export const sanitizedHostileText = 'a^[[31mb^[]52;c;ZXZpbA==^Gc\\u{9b}2Jd\\u{202e}e^Mf^?g^@';
