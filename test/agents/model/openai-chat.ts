/** OpenAI's Chat Completions API, which most other providers offer, too. */
import { type Entry, jsonOf, type Reply, textOf, usage, type WireFormat } from './wire.ts';

interface Body {
  model: string;
  stream?: boolean;
  tools?: { function: { name: string } }[];
  messages: { role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'; content?: unknown }[];
}

function entriesOf({ role, content }: Body['messages'][number]): Entry[] {
  if (role === 'assistant') return [{ from: 'model' }];
  if (role === 'tool') return [{ from: 'tool', text: textOf(content) }];
  return role === 'user' ? [{ from: 'person', text: textOf(content) }] : [];
}

const messageOf = (reply: Reply) =>
  'text' in reply
    ? { role: 'assistant', content: reply.text }
    : {
        role: 'assistant',
        content: null,
        tool_calls: [
          { index: 0, id: `call_${reply.id}`, type: 'function', function: { name: reply.tool, arguments: jsonOf(reply.arguments) } },
        ],
      };
const finishReason = (reply: Reply) => ('text' in reply ? 'stop' : 'tool_calls');
const total = { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output };

export const openAiChat: WireFormat = {
  matches: (path) => path === '/v1/chat/completions',
  read: (body: Body) => ({
    model: body.model,
    tools: (body.tools ?? []).map((tool) => tool.function.name),
    entries: body.messages.flatMap(entriesOf),
    stream: body.stream === true,
  }),
  write: (reply, model) => ({
    id: `chatcmpl-${reply.id}`,
    object: 'chat.completion',
    created: 0,
    model,
    choices: [{ index: 0, message: messageOf(reply), finish_reason: finishReason(reply) }],
    usage: total,
  }),
  stream: (reply, model) => {
    const chunk = (choices: unknown[], more: object = {}): [string, unknown] => [
      '',
      { id: `chatcmpl-${reply.id}`, object: 'chat.completion.chunk', created: 0, model, choices, ...more },
    ];
    return [
      chunk([{ index: 0, delta: messageOf(reply), finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason: finishReason(reply) }]),
      chunk([], { usage: total }),
      ['', '[DONE]'],
    ];
  },
};
