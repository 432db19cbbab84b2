/** Anthropic's Messages API. */
import { type Entry, jsonOf, type Reply, textOf, usage, type WireFormat } from './wire.ts';

interface Body {
  model: string;
  stream?: boolean;
  tools?: { name: string }[];
  messages: { role: 'user' | 'assistant' | 'system'; content: string | { type: string; text?: string; content?: unknown }[] }[];
}

function entriesOf({ role, content }: Body['messages'][number]): Entry[] {
  if (role === 'assistant') return [{ from: 'model' }];
  if (role === 'system') return [];
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const results = parts.filter(({ type }) => type === 'tool_result');
  // Claude adds reminders and notes about interruptions to the messages of the user, and joins a prompt with results before it.
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).filter((each) => !/^[<[]/.test(each));
  return [
    ...results.map((part): Entry => ({ from: 'tool', text: textOf(part.content) })),
    ...(text.length === 0 ? [] : [{ from: 'person', text: text.join('\n') } as const]),
  ];
}

const contentOf = (reply: Reply) =>
  'text' in reply
    ? { type: 'text', text: reply.text }
    : { type: 'tool_use', id: `call_${reply.id}`, name: reply.tool, input: reply.arguments };
const stopReason = (reply: Reply) => ('text' in reply ? 'end_turn' : 'tool_use');

export const anthropic: WireFormat = {
  matches: (path) => path === '/v1/messages',
  read: (body: Body) => ({
    model: body.model,
    tools: (body.tools ?? []).map(({ name }) => name),
    entries: body.messages.flatMap(entriesOf),
    stream: body.stream === true,
  }),
  write: (reply, model) => ({
    id: `msg_${reply.id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [contentOf(reply)],
    stop_reason: stopReason(reply),
    stop_sequence: null,
    usage: { input_tokens: usage.input, output_tokens: usage.output },
  }),
  stream: (reply, model) => {
    const start = 'text' in reply ? { type: 'text', text: '' } : { ...contentOf(reply), input: {} };
    const delta =
      'text' in reply ? { type: 'text_delta', text: reply.text } : { type: 'input_json_delta', partial_json: jsonOf(reply.arguments) };
    const events: ({ type: string } & Record<string, unknown>)[] = [
      {
        type: 'message_start',
        message: {
          ...(anthropic.write(reply, model) as object),
          content: [],
          stop_reason: null,
          usage: { input_tokens: usage.input, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: stopReason(reply), stop_sequence: null },
        usage: { output_tokens: usage.output },
      },
      { type: 'message_stop' },
    ];
    return events.map((event) => [event.type, event]);
  },
};
