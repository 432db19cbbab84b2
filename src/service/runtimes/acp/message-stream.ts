/**
 * The messages on an agent's standard streams, one JSON object per line (Agent Client Protocol, "Transports"). Lines that are not
 * messages go to a log: agents print warnings to standard output, and the library would print them on the service's terminal.
 */
import type { Readable, Writable } from 'node:stream';
import { type AnyMessage, CLIENT_METHODS, type Stream } from '@agentclientprotocol/sdk';
import { isObject } from '../../../base/values.ts';

/** Maximum length of a line, in characters. */
const maxLineLength = 32 * 1024 * 1024;

export interface StreamHandlers {
  /** Called with a line that is not a message. */
  onForeignLine(line: string): void;
  /** Called with the parameters of a session update. */
  onUpdate(params: unknown): void;
  /** Resolves when the next message can be accepted. */
  ready(): Promise<void>;
}

/** The stream of messages on the standard input and output of a process. It ends when the output ends. */
export function messageStream(input: Writable, output: Readable, handlers: StreamHandlers): Stream {
  /** The IDs of requests that have no response yet. */
  const openIds = new Set<unknown>();
  const lines = limitedLines(output)[Symbol.asyncIterator]();
  return {
    readable: new ReadableStream<AnyMessage>({
      async pull(controller) {
        for (;;) {
          await handlers.ready();
          const { done, value: line } = await lines.next();
          if (done) return controller.close();
          const message = messageIn(line, openIds);
          if (message === undefined) {
            if (line.trim() !== '') handlers.onForeignLine(line);
          } else if ('method' in message && message.method === CLIENT_METHODS.session_update) {
            // The library would reject updates that its version of the protocol does not contain, and print an error.
            handlers.onUpdate(message.params);
          } else return controller.enqueue(message);
        }
      },
      cancel: async () => void (await lines.return?.(undefined)),
    }),
    writable: new WritableStream<AnyMessage>({
      async write(message) {
        if ('method' in message && 'id' in message) openIds.add(message.id);
        await new Promise<void>((resolve, reject) =>
          input.write(`${JSON.stringify(message)}\n`, (error) => (error == null ? resolve() : reject(error))),
        );
      },
    }),
  };
}

/** Yields the lines of the output. A line that is too long ends the stream with an error. */
async function* limitedLines(output: Readable): AsyncGenerator<string> {
  let rest = '';
  output.setEncoding('utf8');
  for await (const chunk of output as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() as string;
    yield* parts;
    if (rest.length > maxLineLength) throw new Error(`The agent sent a message of more than ${maxLineLength / 1024 / 1024} MiB.`);
  }
  if (rest !== '') yield rest;
}

/** The message in a line, if it is one: a request, a notification, or the response to an open request. */
function messageIn(line: string, openIds: Set<unknown>): AnyMessage | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    if (!isObject(value) || value.jsonrpc !== '2.0') return undefined;
    if (typeof value.method === 'string') return value as unknown as AnyMessage;
    return 'id' in value && openIds.delete(value.id) ? (value as unknown as AnyMessage) : undefined;
  } catch {
    return undefined;
  }
}
