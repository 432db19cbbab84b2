import { exitCodes, UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/values.ts';
import { bodyFromFlags } from '../../cli/input/body.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument, text, texts } from '../../cli/kit/flags.ts';
import type { RpcMessage } from '../../client/json-rpc.ts';
import { isRead } from '../../client/mcp/read-only-tools.ts';
import { refuseAnswer } from './person.ts';
import { withSession } from './session.ts';

export default defineCommand({
  summary: 'Send a JSON-RPC message to the service and print the response',
  description:
    'METHOD is sent with the fields as its parameters, in the protocol version of the service, and its result is printed. Without METHOD, --input must contain a complete message, which is sent unchanged; the complete response is printed.',
  arguments: { method: optionalArgument('The method, such as tools/list') },
  options: {
    rawField: texts('KEY=VALUE', 'Add a text parameter', { short: 'f' }),
    field: texts('KEY=VALUE', 'Add a typed parameter: true, false, null, a number, @FILE, or text', { short: 'F' }),
    input: text('FILE|-', 'Use a JSON file as the parameters or as the complete message', { complete: 'files' }),
  },
  operations: ['callMcp'],
  mutates: true,
  exits: [exitCodes.notFound],
  examples: [
    { command: 'aops mcp request server/discover', text: 'Show the capabilities of the service' },
    { command: "aops mcp request tools/call -f name=get_run -f 'arguments[run_id]=RUN'", text: 'Call a tool with nested parameters' },
    { command: 'aops mcp request --input message.json', text: 'Send a complete message' },
  ],
  async run(context, input) {
    const body = await bodyFromFlags(context, input);
    const { method } = input;
    return withSession(context, async (session) => {
      if (method === undefined) {
        const message = checkedMessage(body);
        refuseAnswer(message.method, message.params);
        return session.exchange(message, message.id !== undefined && !isRead(message.method));
      }
      if (body !== undefined && !isObject(body)) throw new UsageError('--input must contain a JSON object with the parameters.');
      refuseAnswer(method, body);
      const params = body === undefined ? {} : { params: body };
      if (method.startsWith('notifications/')) return session.exchange({ jsonrpc: '2.0', method, ...params }, false);
      return session.request({ method, ...params, mutates: !isRead(method) });
    });
  },
});

function checkedMessage(body: unknown): RpcMessage {
  if (body === undefined)
    throw new UsageError('No method was specified.', 'For example: aops mcp request tools/list. Or pass a complete message with --input.');
  const hint = 'A request is an object with "jsonrpc": "2.0", a "method" and, unless it is a notification, an "id".';
  if (!isObject(body) || typeof body.method !== 'string') throw new UsageError('The message is not a JSON-RPC request.', hint);
  if (body.jsonrpc !== '2.0') throw new UsageError('The message does not contain "jsonrpc": "2.0".', hint);
  return body as unknown as RpcMessage;
}
