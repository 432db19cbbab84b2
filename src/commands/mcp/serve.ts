import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { Bridge } from '../../client/mcp/bridge.ts';
import { readLines, tooLong } from '../../client/mcp/lines.ts';
import { policyFrom, policyOptions } from './policy-flags.ts';

/** Maximum size of a message; bytes. */
const maxLineBytes = 32 * 1024 * 1024;
/** How long pending requests may take after the client has closed its end; milliseconds. */
const closingMilliseconds = 5_000;

export default defineCommand({
  summary: 'Run an MCP server on the standard streams',
  description:
    'For MCP clients that start their servers themselves. Each line of standard input is a JSON-RPC message. It is sent to the MCP endpoint of the service with the credential of the profile, and the response is written to standard output as one line; nothing else is written there. Requests are retried like those of other commands, but changes never happen more than once. The command ends when its input ends.\n\n--read-only and --allow limit the tools. They are enforced here: a call of any other tool is refused. Without them, all tools are offered, except that only a person can answer a human request: the client shows its user a form with the request, and sends what the user decides. A client that cannot show forms is not offered the tool for answers.',
  options: policyOptions,
  operations: ['callMcp', 'getRun', 'respondToHumanRequest'],
  examples: [
    { command: 'aops mcp serve', text: 'Run the server, as a client does' },
    { command: 'aops mcp serve --read-only', text: 'Offer only tools that change nothing' },
    { command: "aops mcp serve --allow 'list_*,get_*' --allow start_run", text: 'Offer only these tools' },
    { command: 'aops mcp config', text: 'Print the configuration for a client' },
  ],
  async run(context, input) {
    const { terminal, signal } = context;
    const policy = await policyFrom(context, input);
    const bridge = new Bridge(await context.client(), {
      policy,
      write: (line) => terminal.data(`${line}\n`),
      suggestions: (text) => terminal.suggested(text),
      log: (text) => {
        if (!terminal.brokenPipe.aborted) terminal.note(text);
      },
    });
    try {
      for await (const line of readLines(inputOf(context), maxLineBytes)) {
        if (line === tooLong) bridge.refuse(`A message can have at most ${maxLineBytes / 1_048_576} MiB.`);
        else bridge.receive(line);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    await finish(context, bridge);
  },
});

/** Standard input, until it ends or the command is stopped. */
function inputOf({ terminal, signal }: Context): AsyncIterable<Uint8Array> {
  const { stream } = terminal.in;
  const stop = (): void => void (stream as unknown as { destroy(): void }).destroy();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return stream as unknown as AsyncIterable<Uint8Array>;
}

async function finish({ clock, signal }: Context, bridge: Bridge): Promise<void> {
  const closing = new AbortController();
  const late = clock.sleep(closingMilliseconds, closing.signal).then(
    () => bridge.abort(new AopsError('The client has closed its end.', { code: 'interrupted', exit: exitCodes.interrupted })),
    () => undefined,
  );
  await bridge.idle();
  closing.abort();
  await late;
  if (!signal.aborted) await bridge.close();
}
