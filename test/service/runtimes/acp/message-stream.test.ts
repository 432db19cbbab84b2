/** The messages of an agent, and what else is in its output. */
import { PassThrough, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { messageStream } from '../../../../src/service/runtimes/acp/message-stream.ts';

/** Everything that arrives from an output with these pieces. @param sent messages that are sent before */
async function read(pieces: Iterable<Uint8Array | string>, sent: object[] = []) {
  const [messages, foreignLines, updates]: [unknown[], string[], unknown[]] = [[], [], []];
  const stream = messageStream(new PassThrough(), Readable.from(pieces, { objectMode: false }), {
    onForeignLine: (line) => void foreignLines.push(line),
    onUpdate: (params) => void updates.push(params),
    ready: async () => undefined,
  });
  const writer = stream.writable.getWriter();
  for (const message of sent) await writer.write(message as never);
  for await (const message of stream.readable as unknown as AsyncIterable<unknown>) messages.push(message);
  return { messages, foreignLines, updates };
}

const request = (id: number) => ({ jsonrpc: '2.0', id, method: 'example', params: { text: 'Zürich 😀' } });
const line = (message: object): string => `${JSON.stringify(message)}\n`;

it('messages are read wherever the output is divided', async () => {
  const bytes = Buffer.from(line(request(1)) + line(request(2)));
  for (let place = 1; place < bytes.length; place++) {
    const { messages, foreignLines } = await read([bytes.subarray(0, place), bytes.subarray(place)]);
    expect([place, messages, foreignLines]).toEqual([place, [request(1), request(2)], []]);
  }
});

it('a message at the end needs no line break', async () => {
  expect((await read([line(request(1)).trimEnd()])).messages).toEqual([request(1)]);
});

it('other lines are reported, except empty ones', async () => {
  const lines = [
    'Debugger attached.',
    '',
    '  ',
    '{"jsonrpc":',
    '[]',
    '{"jsonrpc":"1.0","method":"x"}',
    '{"jsonrpc":"2.0","id":9,"result":{}}',
  ];
  const { messages, foreignLines } = await read([`${lines.join('\n')}\n${line(request(1))}`]);
  expect([messages, foreignLines]).toEqual([[request(1)], lines.filter((text) => text.trim() !== '')]);
});

it('a response is a message if its request is open', async () => {
  const response = { jsonrpc: '2.0', id: 4, result: {} };
  const { messages, foreignLines } = await read([line(response), line(response)], [{ jsonrpc: '2.0', id: 4, method: 'example' }]);
  expect([messages, foreignLines]).toEqual([[response], [JSON.stringify(response)]]);
});

it('updates are passed on, whatever they contain', async () => {
  const update = { jsonrpc: '2.0', method: 'session/update', params: [null] };
  expect(await read([line(update)])).toEqual({ messages: [], foreignLines: [], updates: [[null]] });
});
