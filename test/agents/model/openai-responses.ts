/** OpenAI's Responses API. */
import { type Entry, jsonOf, type Reply, textOf, usage, type WireFormat } from './wire.ts';

interface Item {
  type?: string;
  role?: string;
  content?: unknown;
  output?: unknown;
  tools?: unknown;
}

interface Body {
  model: string;
  stream?: boolean;
  tools?: { type: string; name?: string }[];
  input: string | Item[];
}

function entriesOf({ type, role, content, output, tools }: Item): Entry[] {
  if (type === 'function_call_output' || type === 'custom_tool_call_output') return [{ from: 'tool', text: textOf(output) }];
  if (type === 'tool_search_output') return [{ from: 'tool', text: JSON.stringify(tools) }];
  if (type === 'function_call' || type === 'custom_tool_call' || type === 'tool_search_call' || role === 'assistant')
    return [{ from: 'model' }];
  const text = textOf(content);
  // Codex describes the machine and the project in messages of the user.
  return role === 'user' && !text.startsWith('<') && !text.startsWith('#') ? [{ from: 'person', text }] : [];
}

/** Codex offers the tools of MCP servers in namespaces, for which the model searches. */
function nameOf(tool: string): { name: string; namespace?: string } {
  const [, namespace, name] = /^(mcp__.+)__(.+)$/.exec(tool) ?? [];
  return namespace === undefined ? { name: tool } : { namespace, name: name as string };
}

const itemOf = (reply: Reply) => {
  if ('text' in reply) {
    const content = [{ type: 'output_text', text: reply.text, annotations: [] }];
    return { id: `msg_${reply.id}`, type: 'message', role: 'assistant', status: 'completed', content };
  }
  if (reply.tool === 'tool_search')
    return {
      id: `item_${reply.id}`,
      type: 'tool_search_call',
      call_id: `call_${reply.id}`,
      execution: 'client',
      status: 'completed',
      arguments: reply.arguments,
    };
  const call = { id: `item_${reply.id}`, call_id: `call_${reply.id}`, ...nameOf(reply.tool), status: 'completed' };
  return typeof reply.arguments === 'string'
    ? { ...call, type: 'custom_tool_call', input: reply.arguments }
    : { ...call, type: 'function_call', arguments: jsonOf(reply.arguments) };
};

export const openAiResponses: WireFormat = {
  matches: (path) => path === '/v1/responses',
  read: (body: Body) => ({
    model: body.model,
    tools: (body.tools ?? []).map((tool) => tool.name ?? tool.type),
    entries: typeof body.input === 'string' ? [{ from: 'person', text: body.input }] : body.input.flatMap(entriesOf),
    stream: body.stream === true,
  }),
  write: (reply, model) => ({
    id: `resp_${reply.id}`,
    object: 'response',
    created_at: 0,
    status: 'completed',
    model,
    output: [itemOf(reply)],
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output,
    },
  }),
  stream: (reply, model) => {
    const item = itemOf(reply);
    const response = openAiResponses.write(reply, model) as object;
    const delta =
      'text' in reply
        ? [{ type: 'response.output_text.delta', item_id: `msg_${reply.id}`, output_index: 0, content_index: 0, delta: reply.text }]
        : [];
    const events: ({ type: string } & Record<string, unknown>)[] = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
      ...delta,
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ];
    return events.map((event, index) => [event.type, { ...event, sequence_number: index }]);
  },
};
