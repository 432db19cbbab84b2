/** The model server in the formats that the agents use, with and without streaming. */
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { afterTest } from '../support/temporary.ts';
import { ModelServer, type Script, steps } from './model-server.ts';

async function start(script: Script): Promise<ModelServer> {
  const server = await ModelServer.start(script);
  afterTest(() => server.close());
  return server;
}

/** Sends JSON, and returns the status and the text of the answer. */
async function post(url: string, body: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

const result = 'Written.';
/** The requests of an agent before and after its tool was called. */
const formats: Record<string, { path: string; streamPath?: string; before: object; after: object }> = {
  'Anthropic messages': {
    path: '/v1/messages',
    before: { tools: [{ name: 'Write' }], messages: [{ role: 'user', content: [{ type: 'text', text: 'Go' }] }] },
    after: {
      tools: [{ name: 'Write' }],
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: [{ type: 'tool_use' }] },
        { role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text: result }] }] },
      ],
    },
  },
  'OpenAI chat completions': {
    path: '/v1/chat/completions',
    before: { tools: [{ function: { name: 'write' } }], messages: [{ role: 'system' }, { role: 'user', content: 'Go' }] },
    after: {
      tools: [{ function: { name: 'write' } }],
      messages: [{ role: 'user', content: 'Go' }, { role: 'assistant' }, { role: 'tool', content: result }],
    },
  },
  'OpenAI responses': {
    path: '/v1/responses',
    before: { tools: [{ type: 'function', name: 'exec_command' }], input: 'Go' },
    after: {
      tools: [{ type: 'function', name: 'exec_command' }],
      input: [
        { role: 'user', content: [{ type: 'input_text', text: '<environment_context>' }] },
        { role: 'user', content: [{ type: 'input_text', text: 'Go' }] },
        { type: 'custom_tool_call' },
        { type: 'custom_tool_call_output', output: result },
      ],
    },
  },
  'Gemini generateContent': {
    path: '/v1beta/models/gemini-test:generateContent',
    streamPath: '/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
    before: {
      tools: [{ functionDeclarations: [{ name: 'write_file' }] }],
      contents: [{ role: 'user', parts: [{ text: '<session_context>' }, { text: 'Go' }] }],
    },
    after: {
      tools: [{ functionDeclarations: [{ name: 'write_file' }] }],
      contents: [
        { role: 'user', parts: [{ text: 'Go' }] },
        { role: 'model', parts: [{}] },
        { role: 'user', parts: [{ functionResponse: { response: result } }] },
      ],
    },
  },
};

describe.each(Object.entries(formats))('the model server with %s', (_, { path, streamPath, before, after }) => {
  it.each([false, true])('calls a tool and continues with its result; streaming: %s', async (stream) => {
    const server = await start(steps({ write: 'hello.txt', content: 'Hello' }, { say: 'I am done.' }));
    const url = `${server.url}${stream ? (streamPath ?? path) : path}`;
    const call = await post(url, { model: 'gpt-test', stream, ...before });
    expect(call.status).toBe(200);
    expect(call.text).toContain('hello.txt');
    expect(call.text).not.toContain('I am done.');
    expect((await post(url, { model: 'gpt-test', stream, ...after })).text).toContain('I am done.');
    expect(call.text.startsWith('{')).toBe(!stream);
    expect(server.turns.map(({ prompt, results }) => [prompt, results.length])).toEqual([
      ['Go', 0],
      ['Go', 1],
    ]);
    expect(server.turns[1]?.results[0]).toContain(result);
  });
});

describe('the model server', () => {
  const chat = (text: string, tools = ['write']) => ({
    model: 'test',
    tools: tools.map((name) => ({ function: { name } })),
    messages: [{ role: 'user', content: text }],
  });

  it('performs the script only for requests that offer the tools of an agent', async () => {
    const server = await start(() => ({ say: 'I am the agent.' }));
    expect((await post(`${server.url}/v1/chat/completions`, chat('Give this a title', []))).text).toContain('A title');
    expect((await post(`${server.url}/v1/chat/completions`, chat('Go'))).text).toContain('I am the agent.');
    expect(server.turns).toHaveLength(1);
  });

  it.each([
    [{ edit: 'a.txt', from: 'x', to: 'y' }, 'edit', { filePath: 'a.txt', oldString: 'x', newString: 'y' }],
    [{ read: 'a.txt' }, 'read', { filePath: 'a.txt' }],
    [{ run: 'ls' }, 'bash', { command: 'ls', description: 'Run a command' }],
    [{ call: 'create_case', with: { title: 'A' } }, 'create_case', { title: 'A' }],
  ] as const)('translates %j into the tool %s', async (step, tool, args) => {
    const server = await start(steps(step));
    const { choices } = JSON.parse((await post(`${server.url}/v1/chat/completions`, chat('Go'))).text);
    const { name, arguments: text } = choices[0].message.tool_calls[0].function;
    expect([name, JSON.parse(text)]).toEqual([tool, args]);
  });

  it('writes patches for codex', async () => {
    const server = await start(steps({ edit: 'a.txt', from: 'x', to: 'y\nz' }));
    const body = { model: 'test', tools: [{ type: 'function', name: 'exec_command' }], input: 'Go' };
    const { output } = JSON.parse((await post(`${server.url}/v1/responses`, body)).text);
    expect(output[0]).toMatchObject({
      type: 'custom_tool_call',
      name: 'apply_patch',
      input: '*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n+z\n*** End Patch\n',
    });
  });

  it('fails with the status of the script', async () => {
    const server = await start(() => ({ fail: 529, message: 'Overloaded' }));
    expect(await post(`${server.url}/v1/chat/completions`, chat('Go'))).toMatchObject({
      status: 529,
      text: expect.stringContaining('Overloaded'),
    });
  });

  it('never answers if the script says so, until it is closed', async () => {
    const server = await ModelServer.start(() => ({ hang: true }));
    const answer = post(`${server.url}/v1/chat/completions`, chat('Go'));
    answer.catch(() => undefined);
    while (server.turns.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await server.close();
    await expect(answer).rejects.toThrow();
  });

  it.each([
    ['HEAD', '/api/hello'],
    ['GET', '/v1/models'],
  ])('answers %s %s', async (method, path) => {
    const server = await start(() => ({ say: '' }));
    const status = await new Promise((resolve) => {
      request(`${server.url}${path}`, { method }, (response) => resolve(response.resume().statusCode)).end();
    });
    expect(status).toBe(200);
    expect(server.requests).toMatchObject([{ method, path }]);
  });

  it('counts tokens', async () => {
    const server = await start(() => ({ say: '' }));
    expect(JSON.parse((await post(`${server.url}/v1/messages/count_tokens`, {})).text)).toMatchObject({ input_tokens: 100 });
  });
});
