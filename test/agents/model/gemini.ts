/** Google's generateContent and streamGenerateContent methods. */
import { type Entry, type Reply, usage, type WireFormat } from './wire.ts';

interface Body {
  tools?: { functionDeclarations?: { name: string }[] }[];
  contents: { role?: 'user' | 'model'; parts: { text?: string; functionResponse?: { response?: unknown } }[] }[];
}

function entriesOf({ role, parts }: Body['contents'][number]): Entry[] {
  if (role === 'model') return [{ from: 'model' }];
  const results = parts.flatMap(({ functionResponse }) => (functionResponse === undefined ? [] : [functionResponse]));
  if (results.length > 0) return results.map(({ response }) => ({ from: 'tool', text: JSON.stringify(response) }));
  const text = parts.map((part) => part.text ?? '').filter((each) => !each.startsWith('<'));
  return text.length === 0 ? [] : [{ from: 'person', text: text.join('\n') }];
}

const partOf = (reply: Reply) =>
  'text' in reply ? { text: reply.text } : { functionCall: { id: `call_${reply.id}`, name: reply.tool, args: reply.arguments } };

const path = /^\/v1(?:beta)?\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

export const gemini: WireFormat = {
  matches: (requestedPath) => path.test(requestedPath),
  read: (body: Body, requestedPath) => {
    const [, model = '', method] = path.exec(requestedPath) ?? [];
    return {
      model,
      tools: (body.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map(({ name }) => name)),
      entries: body.contents.flatMap(entriesOf),
      stream: method === 'streamGenerateContent',
    };
  },
  write: (reply, model) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [partOf(reply)] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: usage.input, candidatesTokenCount: usage.output, totalTokenCount: usage.input + usage.output },
    modelVersion: model,
  }),
  stream: (reply, model) => [['', gemini.write(reply, model)]],
};
