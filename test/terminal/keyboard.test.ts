import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { graceMs, Keyboard } from '../../src/terminal/prompting/keyboard.ts';
import { isProbablyPaste, PasteReader, plainLines } from '../../src/terminal/prompting/pasted-text.ts';
import { insertPasted } from '../../src/terminal/prompting/write.ts';

/** A clock that does not advance until it is moved. */
class HandClock implements Clock {
  #now = 0;
  #sleeping: { until: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.#sleeping.push({ until: this.#now + ms, wake }));
  }

  async pass(ms: number): Promise<void> {
    this.#now += ms;
    const due = this.#sleeping.filter(({ until }) => until <= this.#now);
    this.#sleeping = this.#sleeping.filter(({ until }) => until > this.#now);
    for (const { wake } of due) wake();
    await turns();
  }
}

/** Lets everything that is due happen. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function keyboard() {
  const clock = new HandClock();
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const heard: string[] = [];
  const events: string[] = [];
  const keys = new Keyboard(stdin, clock, {
    cancelled: () => events.push('cancelled'),
    suspended: () => events.push('suspended'),
    changed: () => events.push('changed'),
  });
  keys.input.on('data', (chunk) => heard.push(String(chunk)));
  const type = async (text: string): Promise<void> => {
    stdin.write(text);
    await turns();
  };
  return { clock, stdin, keys, heard, events, type };
}

describe('the keyboard of a prompt', () => {
  it('discards keys typed earlier, wherever they are buffered', async () => {
    const { stdin, keys, heard, type } = keyboard();
    stdin.write('typed before it was opened\r');
    keys.open();
    stdin.write('and before it was drawn\r');
    await keys.drain();
    keys.listen(false);
    await type('x');
    expect(heard).toEqual(['x']);
  });

  it('ignores keys during the grace period, but not Ctrl-C', async () => {
    const { clock, keys, heard, events, type } = keyboard();
    keys.open();
    await keys.drain();
    keys.listen(true);
    await clock.pass(graceMs - 1);
    await type('\u0003');
    expect(events).toEqual(['cancelled']);
    expect(keys.listening).toBe(false);
    await clock.pass(300);
    expect(keys.listening).toBe(true);
    expect(events).toEqual(['cancelled', 'changed']);
    await type('x');
    expect(heard).toEqual(['x']);
  });

  it('extends the grace period while somebody keeps typing', async () => {
    const { clock, keys, heard, type } = keyboard();
    keys.open();
    await keys.drain();
    keys.listen(true);
    for (let count = 0; count < 10; count += 1) {
      await clock.pass(200);
      await type('y\r');
    }
    expect(heard).toEqual([]);
    await clock.pass(300);
    await type('z');
    expect(heard).toEqual(['z']);
  });

  it('starts a new grace period when it listens again, which the end of the first one does not end', async () => {
    const { clock, keys, heard, type } = keyboard();
    keys.open();
    await keys.drain();
    keys.listen(true);
    await clock.pass(400);
    keys.pause();
    keys.open();
    await keys.drain();
    keys.listen(true);
    await clock.pass(graceMs - 400);
    await type('\r');
    expect(heard).toEqual([]);
    await clock.pass(graceMs);
    await type('\r');
    expect(heard).toEqual(['\r']);
  });

  it('passes on pasted text as a whole or not at all', async () => {
    const { keys, heard, type } = keyboard();
    keys.open();
    await keys.drain();
    keys.listen(false);
    await type('\u001b[200~a\rb\u001b[201~');
    expect(heard).toEqual([]);
    const texts: string[] = [];
    keys.onPaste = (text) => texts.push(text);
    await type('x\u001b[200~a\r\nb\rc\u001b[20');
    await type('1~y');
    // A terminal without bracketed paste.
    await type('one\rtwo\r');
    expect(texts).toEqual(['a\nb\nc', 'one\ntwo\n']);
    expect(heard).toEqual(['x', 'y']);
  });
});

describe('pasted text', () => {
  it('is recognised wherever its marks are split', () => {
    const text = 'a\u001b[200~two\rlines\u001b[201~b';
    for (let at = 0; at <= text.length; at += 1) {
      const reader = new PasteReader();
      const found = [...reader.read(text.slice(0, at)), ...reader.read(text.slice(at))];
      // The first two characters of a mark are also a key, so they cannot be held back.
      if (at === 2 || at === 3) continue;
      expect(found.map((one) => ('keys' in one ? one.keys : `<${one.pasted}>`)).join('')).toBe('a<two\nlines>b');
    }
  });

  it('contains no control characters except line feeds and tabs', () => {
    expect(plainLines('a\r\nb\rc\n\td\u001b[31me\u0000\u009b')).toBe('a\nb\nc\n\td[31me');
  });

  it('is recognised by text that immediately follows a line end', () => {
    expect(isProbablyPaste('one\rtwo')).toBe(true);
    expect(isProbablyPaste('one\r')).toBe(false);
    expect(isProbablyPaste('\r\r')).toBe(false);
    expect(isProbablyPaste('\u001b[B\r')).toBe(false);
    expect(isProbablyPaste('\r\u001b[B')).toBe(false);
  });

  it('is inserted at the cursor', () => {
    expect(insertPasted({ lines: ['first'], line: 'before after' }, 'a\nb', 7)).toEqual({
      lines: ['first', 'before a'],
      line: 'bafter',
      cursorAfter: 5,
    });
    expect(insertPasted({ lines: [], line: '' }, 'a\tb', 0)).toEqual({ lines: ['a\tb'], line: '', cursorAfter: 0 });
  });
});
