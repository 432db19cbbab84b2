import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { Bridge } from '../../client/mcp/bridge.ts';
import { readLines, tooLong } from '../../client/mcp/lines.ts';

/** Bytes of one message. */
const longestLine = 32 * 1024 * 1024;
/** Milliseconds that requests under way have when the client has closed its end. */
const closingTime = 5_000;

export default defineCommand({
  summary: 'Speak MCP on the standard streams, for a client that starts its servers itself',
  description:
    'Each line of standard input is a JSON-RPC message; it goes to the MCP endpoint of the service with the credential of the profile, and what comes back is a line of standard output. Nothing else is written there. Requests are retried like those of any other command, a change never more than once. It ends with its input.',
  operations: ['callMcp'],
  examples: [
    { command: 'aops mcp serve', text: 'What a client is told to start' },
    { command: 'aops mcp config', text: 'The entry for the configuration of a client' },
  ],
  async run(context) {
    const { terminal, signal } = context;
    const bridge = new Bridge(await context.client(), {
      write: (line) => terminal.data(`${line}\n`),
      log: (text) => {
        if (!terminal.brokenPipe.aborted) terminal.note(text);
      },
    });
    try {
      for await (const line of readLines(inputOf(context), longestLine)) {
        if (line === tooLong) bridge.refuse(`A message has at most ${longestLine / 1_048_576} MiB.`);
        else bridge.take(line);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    await finish(context, bridge);
  },
});

/** Standard input, until it ends or the command is to end. */
function inputOf({ terminal, signal }: Context): AsyncIterable<Uint8Array> {
  const { stream } = terminal.in;
  const stop = (): void => void (stream as unknown as { destroy(): void }).destroy();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return stream as unknown as AsyncIterable<Uint8Array>;
}

async function finish({ clock, signal }: Context, bridge: Bridge): Promise<void> {
  const done = new AbortController();
  const late = clock.sleep(closingTime, done.signal).then(
    () => bridge.abort(new AopsError('The client has closed its end.', { code: 'interrupted', exit: exitCodes.interrupted })),
    () => undefined,
  );
  await bridge.settled();
  done.abort();
  await late;
  if (!signal.aborted) await bridge.close();
}
