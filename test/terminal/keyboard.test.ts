import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { graceMs, Keyboard } from '../../src/terminal/prompting/keyboard.ts';
import { isProbablyPaste, PasteReader, plainLines } from '../../src/terminal/prompting/pasted-text.ts';
import { insertPasted } from '../../src/terminal/prompting/write.ts';

/** A clock that does not advance until it is moved. */
class HandClock implements Clock {
  #now = 0;
  #sleepers: { until: number; wake: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  /** How many sleeps have not ended. */
  get sleeperCount(): number {
    return this.#sleepers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((wake, reject) => {
      const sleeper = { until: this.#now + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((candidate) => candidate !== sleeper);
        reject(signal.reason);
      });
    });
  }

  async pass(ms: number): Promise<void> {
    this.#now += ms;
    const dueSleepers = this.#sleepers.filter(({ until }) => until <= this.#now);
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#now);
    for (const { wake } of dueSleepers) wake();
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
  const receivedKeys: string[] = [];
  const events: string[] = [];
  const keys = new Keyboard(stdin, clock, {
    onCancel: () => events.push('cancelled'),
    onSuspend: () => events.push('suspended'),
    onChange: () => events.push('changed'),
  });
  keys.input.on('data', (chunk) => receivedKeys.push(String(chunk)));
  const type = async (text: string): Promise<void> => {
    stdin.write(text);
    await turns();
  };
  return { clock, stdin, keys, receivedKeys, events, type };
}

describe('the keyboard of a prompt', () => {
  it('discards keys typed earlier, wherever they are buffered', async () => {
    const { stdin, keys, receivedKeys, type } = keyboard();
    stdin.write('typed before it was opened\r');
    keys.open();
    stdin.write('and before it was drawn\r');
    await keys.drain();
    keys.listen(false);
    await type('x');
    expect(receivedKeys).toEqual(['x']);
  });

  it('discards earlier keys that arrive bit by bit', async () => {
    const { stdin, keys, receivedKeys, type } = keyboard();
    keys.open();
    let count = 0;
    const arrive = (): void => {
      stdin.write('y\r');
      count += 1;
      if (count < 5) setImmediate(arrive);
    };
    setImmediate(arrive);
    await keys.drain();
    keys.listen(false);
    await type('x');
    expect(receivedKeys).toEqual(['x']);
  });

  it('ignores keys during the grace period, but not Ctrl-C', async () => {
    const { clock, keys, receivedKeys, events, type } = keyboard();
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
    expect(receivedKeys).toEqual(['x']);
  });

  it('extends the grace period while somebody keeps typing', async () => {
    const { clock, keys, receivedKeys, type } = keyboard();
    keys.open();
    await keys.drain();
    keys.listen(true);
    for (let count = 0; count < 10; count += 1) {
      await clock.pass(200);
      await type('y\r');
    }
    expect(receivedKeys).toEqual([]);
    await clock.pass(300);
    await type('z');
    expect(receivedKeys).toEqual(['z']);
  });

  it('starts a new grace period when it listens again, which the end of the first one does not end', async () => {
    const { clock, keys, receivedKeys, type } = keyboard();
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
    expect(receivedKeys).toEqual([]);
    await clock.pass(graceMs);
    await type('\r');
    expect(receivedKeys).toEqual(['\r']);
  });

  it('passes on pasted text as a whole or not at all', async () => {
    const { keys, receivedKeys, type } = keyboard();
    keys.open();
    await keys.drain();
    keys.listen(false);
    await type('\u001b[200~a\rb\u001b[201~');
    expect(receivedKeys).toEqual([]);
    const texts: string[] = [];
    keys.onPaste = (text) => texts.push(text);
    await type('x\u001b[200~a\r\nb\rc\u001b[20');
    await type('1~y');
    // A terminal without bracketed paste.
    await type('one\rtwo\r');
    expect(texts).toEqual(['a\nb\nc', 'one\ntwo\n']);
    expect(receivedKeys).toEqual(['x', 'y']);
  });
});

/** An open keyboard that listens, after a grace period if there is one. */
async function listening(grace = false) {
  const parts = keyboard();
  parts.keys.open();
  await parts.keys.drain();
  parts.keys.listen(grace);
  return parts;
}

describe('control keys', () => {
  it('cancel at any time, but stop the process only once the prompt was drawn', async () => {
    const { clock, keys, events, receivedKeys, type } = keyboard();
    keys.open();
    await type('\u001a');
    expect(events).toEqual([]);
    await type('\u0003');
    expect(events).toEqual(['cancelled']);
    keys.listen(true);
    await type('\u001a');
    expect(events).toEqual(['cancelled', 'suspended']);
    await clock.pass(graceMs);
    await type('x\u001a');
    expect(events).toEqual(['cancelled', 'suspended', 'changed', 'suspended']);
    expect(receivedKeys).toEqual([]);
  });

  it('end the prompt with Ctrl-D unless there is a text to edit, and not during the grace period', async () => {
    const initially = await listening();
    await initially.type('\u0004');
    expect(initially.events).toEqual(['cancelled']);
    const { clock, keys, events, receivedKeys, type } = await listening(true);
    await type('\u0004');
    expect(events).toEqual([]);
    await clock.pass(graceMs);
    keys.hasText = () => true;
    await type('\u0004');
    expect([events, receivedKeys]).toEqual([['changed'], ['\u0004']]);
    keys.hasText = () => false;
    await type('\u0004');
    expect(events).toEqual(['changed', 'cancelled']);
  });

  it('are not looked for in pasted text', async () => {
    const { keys, events, receivedKeys, type } = await listening();
    const pastedTexts: string[] = [];
    keys.onPaste = (text) => pastedTexts.push(text);
    await type('\u001b[200~a\u0003b\u001a\u0004\u001b[201~');
    expect([events, receivedKeys, pastedTexts]).toEqual([[], [], ['ab']]);
  });
});

describe('the grace period', () => {
  it('lasts exactly as long as it should', async () => {
    const { clock, keys } = await listening(true);
    await clock.pass(graceMs - 1);
    expect(keys.listening).toBe(false);
    await clock.pass(1);
    expect(keys.listening).toBe(true);
  });

  it('lasts until 300 ms after the last key', async () => {
    const { clock, keys, type } = await listening(true);
    await clock.pass(graceMs - 1);
    await type('y');
    await clock.pass(299);
    expect(keys.listening).toBe(false);
    await clock.pass(1);
    expect(keys.listening).toBe(true);
  });

  it('ignores pasted text', async () => {
    const { clock, keys, receivedKeys, type } = await listening(true);
    const pastedTexts: string[] = [];
    keys.onPaste = (text) => pastedTexts.push(text);
    await type('\u001b[200~yes\u001b[201~');
    await type('yes\rno\r');
    await clock.pass(graceMs);
    expect([receivedKeys, pastedTexts]).toEqual([[], []]);
    await type('\u001b[200~now\u001b[201~');
    expect(pastedTexts).toEqual(['now']);
  });

  it('counts keys that this process could not read while it was delayed', async () => {
    const { clock, stdin, keys, receivedKeys, type } = await listening(true);
    // The period ends before the keys that arrived during it are read.
    const gracePeriod = clock.pass(graceMs);
    setImmediate(() => stdin.write('y\r'));
    await gracePeriod;
    expect(keys.listening).toBe(false);
    await clock.pass(300);
    expect(keys.listening).toBe(true);
    await type('x');
    expect(receivedKeys).toEqual(['x']);
  });

  it('ends silently with the prompt', async () => {
    const { clock, keys, events } = await listening(true);
    expect(clock.sleeperCount).toBe(1);
    keys.close();
    expect(clock.sleeperCount).toBe(0);
    await clock.pass(10 * graceMs);
    expect([keys.listening, events]).toEqual([false, []]);
  });
});

describe('the terminal of a prompt', () => {
  it('is in raw mode while the keyboard is open, and is then released', async () => {
    const { stdin, keys, receivedKeys, events, type } = keyboard();
    const endListeners = stdin.listenerCount('end');
    const modes: boolean[] = [];
    Object.assign(stdin, { setRawMode: (isRaw: boolean) => modes.push(isRaw) });
    keys.open();
    keys.listen(false);
    expect(modes).toEqual([true]);
    keys.pause();
    expect(modes).toEqual([true, false]);
    expect(stdin.isPaused()).toBe(true);
    expect(stdin.listenerCount('data')).toBe(0);
    expect(stdin.listenerCount('end')).toBe(endListeners);
    expect(keys.listening).toBe(false);
    keys.open();
    await type('x');
    expect(receivedKeys).toEqual([]);
    keys.listen(false);
    keys.close();
    expect(modes).toEqual([true, false, true, false]);
    stdin.end();
    await turns();
    expect(events).toEqual([]);
  });

  it('cancels the prompt when it is closed', async () => {
    const { stdin, events } = await listening();
    stdin.end();
    await turns();
    expect(events).toEqual(['cancelled']);
  });

  it('may split characters between two reads, but not between two prompts', async () => {
    const { stdin, keys, receivedKeys } = await listening();
    const bytes = Buffer.from('ä');
    const write = async (chunk: Buffer | string): Promise<void> => {
      stdin.write(chunk);
      await turns();
    };
    await write(bytes.subarray(0, 1));
    await write(bytes.subarray(1));
    expect(receivedKeys.splice(0).join('')).toBe('ä');
    await write(bytes.subarray(0, 1));
    keys.listen(false);
    await write('x');
    expect(receivedKeys.splice(0)).toEqual(['x']);
    await write('\u001b[200~half of a paste');
    keys.listen(false);
    await write('x');
    expect(receivedKeys).toEqual(['x']);
  });

  it('passes pasted text to one-line prompts as keys, with spaces instead of line ends and tabs', async () => {
    const { keys, receivedKeys, type } = await listening();
    keys.pasteAsKeys();
    await type('\u001b[200~ two\r\n\tlines \n\u001b[201~');
    await type('one\rtwo');
    expect(receivedKeys).toEqual(['two lines', 'one two']);
  });

  it('passes lines as keys to prompts that accept no pasted text', async () => {
    const { receivedKeys, type } = await listening();
    await type('one\rtwo\r');
    expect(receivedKeys).toEqual(['one\rtwo\r']);
  });
});

describe('pasted text', () => {
  it('is recognised wherever its marks are split', () => {
    const text = 'a\u001b[200~two\rlines\u001b[201~b';
    for (let index = 0; index <= text.length; index += 1) {
      const reader = new PasteReader();
      const parts = [...reader.read(text.slice(0, index)), ...reader.read(text.slice(index))];
      // The first two characters of a mark are also a key, so they cannot be held back.
      if (index === 2 || index === 3) continue;
      expect(parts.map((part) => ('keys' in part ? part.keys : `<${part.pasted}>`)).join('')).toBe('a<two\nlines>b');
    }
  });

  it('is not confused with Escape, which is a key', () => {
    const reader = new PasteReader();
    expect([reader.read('\u001b'), reader.read('a\u001b['), reader.read('\u001b[20')]).toEqual([
      [{ keys: '\u001b' }],
      [{ keys: 'a\u001b[' }],
      [],
    ]);
    expect(reader.read('1~')).toEqual([{ keys: '\u001b[201~' }]);
    expect(reader.read('\u001b[200~')).toEqual([]);
    expect(reader.read('text\u001b[201~')).toEqual([{ pasted: 'text' }]);
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
