import { setTimeout as pause } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { type Dispatcher, request } from 'undici';
import { expect } from 'vitest';
import { type OperationId, operation } from '../../../src/interface/operations.ts';
import { ErrorBody } from '../../../src/interface/schemas/common.ts';
import { schemasOf } from '../../../src/interface/schemas.ts';
import type { Body, Params, Query, Response, Run, RunStatus } from '../../../src/interface/types.ts';
import { type Service, type ServiceOptions, startService } from '../../../src/service/service.ts';
import { putEmptyDatabase } from '../../support/empty-database.ts';
import { reachingTests } from '../../support/outbound.ts';
import { databaseOptions } from '../../support/postgres.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { type Behaviour, testRuntime } from './runtime.ts';

export type TestOptions = Partial<ServiceOptions> & { behaviours?: Record<string, Behaviour> };

/** A service on a free port, closed after the test. */
export async function startApi({ behaviours = {}, ...options }: TestOptions = {}): Promise<Api> {
  const dataDirectory = options.dataDirectory ?? (await temporaryDirectory());
  if (options.dataDirectory === undefined) await putEmptyDatabase(dataDirectory);
  const runtimes = [testRuntime({ done: async () => ({ status: 'completed' }), ...behaviours })];
  const database = await databaseOptions(dataDirectory);
  const shared = options.database && { database: { ownerToken: true, ...options.database } };
  const service = await startService({
    exec: 'off',
    runtimes,
    ...database,
    ...options,
    ...shared,
    ...reachingTests(options),
    dataDirectory,
  });
  afterTest(() => service.close());
  return new Api(service, dataDirectory);
}

export interface Answer<T = unknown> {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: T;
}

export interface CallInput {
  params?: Record<string, string>;
  query?: Record<string, string | number>;
  body?: unknown;
  headers?: Record<string, string>;
}

/** The headers of all responses: none can be stored unless it says so, is taken for another type, or acts as a page. */
const commonHeaders = {
  'cache-control': /^(no-store(, no-transform)?|(private, )?no-cache)$/,
  'content-security-policy': /^default-src 'none'; (.*; )?(frame-ancestors 'none'|sandbox)(;|$)/,
  'x-content-type-options': /^nosniff$/,
  'x-request-id': /^[0-9a-f-]{36}$/,
  'ratelimit-limit': /^\d+$/,
  'ratelimit-remaining': /^\d+$/,
  'ratelimit-reset': /^\d+$/,
};

const validators = new Map<TSchema, Validator>();

/** Fails the test unless the value fits the schema. */
export function expectFits(schema: TSchema, value: unknown): void {
  const validator = validators.get(schema) ?? (Compile(schema) as unknown as Validator);
  validators.set(schema, validator);
  // Listing the errors takes much longer than the check, and there are thousands of responses.
  if (!validator.Check(value)) expect([...validator.Errors(value)].map((error) => `${error.instancePath} ${error.message}`)).toEqual([]);
}

/** Calls a service over HTTP, and checks of every answer what all must have. */
export class Api {
  readonly service: Service;
  readonly dataDirectory: string;

  constructor(service: Service, dataDirectory: string) {
    this.service = service;
    this.dataDirectory = dataDirectory;
  }

  /** The same service, called with another token, of another team. */
  as(token: string, teamId = this.service.teamId): Api {
    return new Api({ ...this.service, token, teamId }, this.dataDirectory);
  }

  /** The same service with a new token, made by the owner. */
  async withToken(options: Partial<Body<'createLocalToken'>> = {}): Promise<Api> {
    const { token, secret } = await this.ok('createLocalToken', { body: { name: 'test', ...options } });
    return this.as(secret, token.team_id);
  }

  /** The same service with a token of a new team. */
  async inNewTeam(name = 'Other'): Promise<Api> {
    const { team } = await this.ok('createLocalTeam', { body: { name } });
    return this.withToken({ team_id: team.id });
  }

  /** Any request; the answer has the headers of all answers, and errors their shape. */
  async send(
    method: string,
    path: string,
    options: { headers?: Record<string, string>; body?: string | Buffer; anonymous?: boolean } = {},
  ): Promise<Answer> {
    const response = await request(path.startsWith('http') ? path : `${this.service.url}${path}`, {
      method: method as Dispatcher.HttpMethod,
      headers: { ...(options.anonymous ? {} : { authorization: `Bearer ${this.service.token}` }), ...options.headers },
      ...(options.body === undefined ? {} : { body: options.body }),
    });
    const isStream = response.headers['content-type']?.includes('text/event-stream') ?? false;
    const text = isStream ? await readBeginning(response.body) : await response.body.text();
    // Assertions only for an invalid response, because there are thousands of valid ones.
    const invalidHeaders = Object.entries(commonHeaders).filter(([name, pattern]) => !pattern.test(String(response.headers[name])));
    if (invalidHeaders.length > 0)
      expect(response.headers).toMatchObject(
        Object.fromEntries(invalidHeaders.map(([name, pattern]) => [name, expect.stringMatching(pattern)])),
      );
    const sharedHeaders = Object.keys(response.headers).filter((name) => name.startsWith('access-control-'));
    if (sharedHeaders.length > 0) expect(sharedHeaders, 'no other origin can read a response').toEqual([]);
    const isJson = response.headers['content-type']?.includes('application/json') ?? false;
    const body = isJson && text !== '' ? (JSON.parse(text) as unknown) : undefined;
    // The MCP endpoint has errors of its own.
    const isRpc = typeof body === 'object' && body !== null && 'jsonrpc' in body;
    if (response.statusCode >= 400 && method !== 'HEAD' && !isRpc) expectFits(ErrorBody, body);
    return { status: response.statusCode, headers: response.headers, text, body };
  }

  /** An operation; a success fits the schema of its response. */
  async call<Id extends OperationId>(id: Id, input: CallInput = {}): Promise<Answer<Response<Id>>> {
    const { method, path, success, produces } = operation(id);
    const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(input.params?.[name] ?? (name === 'teamId' ? this.service.teamId : '')),
    );
    const query = new URLSearchParams(
      Object.entries(input.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const { type, bytes } = await encodeBody(input.body);
    const answer = await this.send(method, `${filledPath}${query === '' ? '' : `?${query}`}`, {
      headers: { ...(type === undefined ? {} : { 'content-type': type }), ...input.headers },
      ...(bytes === undefined ? {} : { body: bytes }),
    });
    if (answer.status < 400) {
      if (answer.status !== success) expect(answer.status).toBe(success);
      // A page is its own text; bytes fit anything.
      if (produces !== undefined) expect(answer.headers['content-type']).toContain(produces);
      expectFits(schemasOf(id).response, produces === undefined ? answer.body : answer.text);
    }
    return answer as Answer<Response<Id>>;
  }

  /** The body of a call that must succeed. */
  async ok<Id extends OperationId>(
    id: Id,
    input: { params?: Partial<Params<Id>>; query?: Partial<Query<Id>>; body?: Body<Id> } = {},
  ): Promise<Response<Id>> {
    const answer = await this.call(id, input as CallInput);
    if (answer.status >= 300) expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  }

  /** An agent that does what a behaviour says. */
  async agent(behaviour = 'done', name = `Agent ${behaviour}`): Promise<string> {
    const { agent } = await this.ok('createAgent', { body: { name, build: { name: 'first', config: config(behaviour) } } });
    return agent.id;
  }

  /** A run of a new agent. */
  async run(behaviour = 'done', message?: string): Promise<Run> {
    const agentId = await this.agent(behaviour, `${behaviour} ${Math.random()}`);
    const { run } = await this.ok('startRun', { body: { agent_id: agentId, ...(message === undefined ? {} : { message }) } });
    return run;
  }

  /** The run once it has one of the statuses; every test has a time limit that bounds this. */
  async until(runId: string, ...statuses: RunStatus[]): Promise<Run> {
    for (let requests = 1; ; requests++) {
      const { run } = await this.ok('getRun', { params: { run_id: runId } });
      if (statuses.includes(run.status)) return run;
      // The service runs in this process: requests without a pause would delay what they wait for. Their number is limited, too.
      await pause(Math.min(3 * requests, 50));
    }
  }

  async texts(runId: string): Promise<string[]> {
    const { messages } = await this.ok('listRunMessages', { params: { run_id: runId } });
    return messages.map((message) => message.text_content ?? message.type);
  }
}

/** The first piece of a body that may never end. */
async function readBeginning(body: AsyncIterable<Buffer>): Promise<string> {
  for await (const piece of body) return piece.toString();
  return '';
}

async function encodeBody(body: unknown): Promise<{ type?: string; bytes?: Buffer }> {
  if (body === undefined) return {};
  if (Buffer.isBuffer(body)) return { type: 'application/x-tar', bytes: body };
  if (!(body instanceof FormData)) return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) };
  const form = new globalThis.Response(body);
  return { type: form.headers.get('content-type') ?? '', bytes: Buffer.from(await form.arrayBuffer()) };
}

export const config = (procedure: string, model = 'test') => ({
  version: 'v2' as const,
  data: { models: { agent: { model }, browsing: { provider: 'anthropic' as const, model: 'none' } }, input: procedure },
});
