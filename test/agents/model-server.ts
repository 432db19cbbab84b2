/**
 * A server for models on the loopback interface, which agents of all makers can use: it speaks the formats of Anthropic, OpenAI (both), and
 * Google. What the model does is a function of the conversation, so it does not matter how often an agent repeats a request, whether
 * it was restarted in between, or how many agents use the server at the same time.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropic } from './model/anthropic.ts';
import { gemini } from './model/gemini.ts';
import { openAiChat } from './model/openai-chat.ts';
import { openAiResponses } from './model/openai-responses.ts';
import { callFor, offersActions, type Step } from './model/tools.ts';
import type { ModelRequest, Reply, WireFormat } from './model/wire.ts';

export { usage } from './model/wire.ts';
export type { Step };

/** The state of a conversation in which it is the model's turn. */
export interface Turn {
  /** The texts of the person, oldest first. */
  prompts: readonly string[];
  /** The last prompt. */
  prompt: string;
  /** The results of the tools that were called since the last prompt. */
  results: readonly string[];
  /** The names of the tools that the agent offers. */
  tools: readonly string[];
  /** The name of the model that the agent requested. */
  model: string;
}

/** What the model does in its turn. */
export type Script = (turn: Turn) => Step;

/** After each prompt, performs these steps in this order, each after the result of the one before, and then says that it is done. */
export const steps =
  (...list: Step[]): Script =>
  ({ results }) =>
    list[results.length] ?? { say: 'Done.' };

/** A request as the server received it. */
export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: unknown;
  /** The turn, if the model acted; other requests are for titles, token counts and the like. */
  turn?: Turn;
}

const formats: readonly WireFormat[] = [anthropic, openAiChat, openAiResponses, gemini];

export class ModelServer {
  /** All requests in the order of their arrival. */
  readonly requests: RecordedRequest[] = [];
  /** What the model does from now on. */
  script: Script;
  readonly #server = createServer((request, response) => void this.#receive(request, response));
  #replies = 0;

  private constructor(script: Script) {
    this.script = script;
  }

  /** Listens on a free port. */
  static async start(script: Script): Promise<ModelServer> {
    const server = new ModelServer(script);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  /** Without a slash at the end, and without the version of an API. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The turns of the model so far. */
  get turns(): Turn[] {
    return this.requests.flatMap(({ turn }) => (turn === undefined ? [] : [turn]));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // An agent that is killed aborts its request.
    const text = await textOfRequest(request).catch(() => undefined);
    if (text === undefined) return;
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const recordedRequest: RecordedRequest = { method: request.method ?? '', path, headers: request.headers, body };
    this.requests.push(recordedRequest);
    const format = formats.find((each) => request.method === 'POST' && each.matches(path));
    if (format === undefined) return answerOther(path, response);
    const modelRequest = format.read(body as never, path);
    const turn = turnOf(modelRequest);
    const acts = offersActions(modelRequest.tools) && turn.prompts.length > 0;
    if (acts) recordedRequest.turn = turn;
    const step = acts ? this.script(turn) : { say: 'A title' };
    if ('hang' in step) return;
    if ('fail' in step) return answerJson(response, { error: { type: 'error', code: step.fail, message: step.message } }, step.fail);
    const reply = this.#reply(step, modelRequest);
    if (modelRequest.stream) answerStream(response, format.stream(reply, modelRequest.model));
    else answerJson(response, format.write(reply, modelRequest.model));
  }

  #reply(step: Exclude<Step, { hang: true } | { fail: number }>, { tools }: ModelRequest): Reply {
    const id = ++this.#replies;
    if ('say' in step) return { id, text: step.say };
    if ('call' in step) return { id, tool: step.call, arguments: step.with };
    const call = callFor(step, tools);
    if (call === undefined) throw new Error(`No tool for ${JSON.stringify(step)} among ${tools.join(', ')}`);
    return { id, ...call };
  }
}

async function textOfRequest(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function turnOf({ entries, tools, model }: ModelRequest): Turn {
  const prompts = entries.flatMap((entry) => (entry.from === 'person' ? [entry.text] : []));
  const last = entries.findLastIndex(({ from }) => from === 'person');
  const results = entries.slice(last + 1).flatMap((entry) => (entry.from === 'tool' ? [entry.text] : []));
  return { prompts, prompt: prompts.at(-1) ?? '', results, tools, model };
}

/** Agents count tokens, list models, and check whether the server is there. */
function answerOther(path: string, response: ServerResponse): void {
  if (/count_?tokens$/i.test(path)) answerJson(response, { input_tokens: 100, totalTokens: 100 });
  else if (path.endsWith('/models')) answerJson(response, { object: 'list', data: [], models: [] });
  else answerJson(response, {});
}

const answerJson = (response: ServerResponse, body: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

function answerStream(response: ServerResponse, events: [string, unknown][]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [name, data] of events) {
    response.write(`${name === '' ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
}
