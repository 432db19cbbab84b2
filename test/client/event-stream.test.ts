import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamParser, type StreamEvent } from '../../src/client/event-stream.ts';

const limit = 1_000;

/** The events of a stream that arrives in chunks of these lengths. */
function read(text: string | Buffer, lengths: readonly number[] = [text.length]): StreamEvent[] {
  const bytes = Buffer.from(text as string);
  const parser = new EventStreamParser(limit);
  const events: StreamEvent[] = [];
  let offset = 0;
  for (let index = 0; offset < bytes.length; index++) {
    const length = lengths[index % lengths.length] ?? 1;
    events.push(...parser.push(bytes.subarray(offset, offset + length)));
    offset += length;
  }
  return [...events, ...parser.end()];
}

const datas = (text: string, lengths?: number[]): string[] => read(text, lengths).map(({ data }) => data);

describe('an event stream', () => {
  it('ends events at empty lines, for all kinds of line ends', () => {
    for (const end of ['\n', '\r\n', '\r']) expect(datas(['data: a', '', 'data: b', 'data: c', '', ''].join(end))).toEqual(['a', 'b\nc']);
    expect(datas('data: a\r\r\ndata: b\n\n')).toEqual(['a', 'b']);
  });

  it('understands comments, names and IDs, and ignores unknown fields', () => {
    const text =
      ': a comment\n\nevent: ping\ndata: 1\n\nid: 7\ndata:2\ndata:  3\n\nid: a\0b\nunknown: x\ndata\n\nevent: lost\n\ndata: 5\n\n';
    expect(read(text)).toEqual([
      { type: 'ping', id: '', data: '1' },
      { type: 'message', id: '7', data: '2\n 3' },
      { type: 'message', id: '7', data: '' },
      { type: 'message', id: '7', data: '5' },
    ]);
  });

  it('says when to reconnect', () => {
    const parser = new EventStreamParser(limit);
    parser.push(Buffer.from('retry: 1500\nretry: soon\n\n'));
    expect(parser.retry).toBe(1_500);
    parser.push(Buffer.from('unknown: 7\n\n'));
    expect(parser.retry).toBe(1_500);
  });

  it('can end without its last empty line, even within a line', () => {
    expect(datas('data: a\n\ndata: b\n')).toEqual(['a', 'b']);
    expect(datas('data: a\n\ndata: b')).toEqual(['a', 'b']);
  });

  it('can start with a byte order mark', () => {
    expect(datas('\ufeffdata: a\n\n')).toEqual(['a']);
  });

  it('is parsed the same however it is split, even within a character', () => {
    const line = fc.constantFrom('data: x', 'data: ü', 'data: 😀', 'data', ': c', 'id: 1', 'event: e', '', 'data: {"a":"\u2028"}');
    const end = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(fc.array(fc.tuple(line, end)), fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), (lines, lengths) => {
        const text = lines.map(([content, ending]) => content + ending).join('');
        expect(read(text, lengths)).toEqual(read(text));
      }),
    );
  });

  it('is parsed the same with empty chunks', () => {
    const parser = new EventStreamParser(limit);
    const events = ['data: a\r', '', '\ndata: b\n', '', '\n'].flatMap((text) => parser.push(Buffer.from(text)));
    expect(events.map(({ data }) => data)).toEqual(['a\nb']);
  });

  it('rejects events that exceed the size limit', () => {
    expect(datas(`data: ${'x'.repeat(900)}\n\ndata: ${'y'.repeat(900)}\n\n`)).toHaveLength(2);
    for (const text of [`data: ${'x'.repeat(limit)}`, `data: ${'x'.repeat(600)}\ndata: ${'x'.repeat(600)}\n`])
      expect(() => read(text)).toThrow('an event of the answer is larger than');
    expect(() => new EventStreamParser(limit).push(Buffer.alloc(limit, 'x'))).not.toThrow();
    expect(() => new EventStreamParser(limit).push(Buffer.alloc(limit + 1, 'x'))).toThrow();
    expect(() => new EventStreamParser(2_097_152).push(Buffer.alloc(2_097_153, 'x'))).toThrow('larger than 2 MiB');
  });
});
