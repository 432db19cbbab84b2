/** One request against a scripted fault, and everything about its outcome. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import path from 'node:path';
import { expect } from 'vitest';
import type { AopsError } from '../../src/base/errors.ts';
import type { Dispatcher } from '../../src/base/undici.ts';
import { Client, type ClientEvent, type ClientOptions } from '../../src/client/client.ts';
import { newClient, scriptedServer, type WaitClock } from '../client/harness.ts';
import { eventually } from '../support/eventually.ts';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { afterTest, temporaryFolder } from '../support/temporary.ts';
import { json, type RawServer, type RecordedRequest, type Step } from './raw-server.ts';

export const secret = 'secret-token';
export const run = { id: 'r1', status: 'running' };
export const success = json(200, { run, pending_human_request: null });
export const creation = json(201, { run });
export const replay = json(201, { run }, { 'idempotency-replayed': 'true' });
export const getRun = { params: { run_id: 'r1' } };
export const startRun = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };

/** The outcome of a request. */
export interface RequestOutcome {
  /** Its return value. */
  value?: unknown;
  error?: AopsError;
  /** The exit code of its error; 0 if it succeeded. */
  exit: number;
  message: string;
  hint: string;
  /** Requests that the server read. */
  attempts: number;
  /** The idempotency key of each request. */
  keys: (string | undefined)[];
  /** The number of different keys. */
  distinctKeys: number;
  /** Every wait, in milliseconds. */
  waitTimes: number[];
  /** The total time that passed, in milliseconds. */
  elapsedTime: number;
  events: ClientEvent[];
  client: Client;
  clock: WaitClock;
}

export type Ask = (client: Client) => Promise<unknown>;
export const readRun: Ask = (client) => client.call('getRun', getRun);
export const change: Ask = (client) => client.call('startRun', startRun);

type Options = Partial<ClientOptions> & { hold?: boolean };

/** Sends a request to a server that answers with these steps. */
export async function outcomeOf(
  ask: Ask,
  steps: readonly Step[] | RawServer,
  options: Options = {},
  make?: (options: ClientOptions) => Client,
): Promise<RequestOutcome> {
  const server = Array.isArray(steps) ? await scriptedServer(...(steps as Step[])) : (steps as RawServer);
  return outcomeAt(ask, server.url, server, options, make);
}

/** Sends a request to an address; `server` is what listens there, if anything. */
export async function outcomeAt(
  ask: Ask,
  url: string,
  server: RawServer | undefined,
  options: Options = {},
  make?: (options: ClientOptions) => Client,
): Promise<RequestOutcome> {
  const { client, clock, events } = newClient(url, options, make);
  const startedAt = clock.now();
  const outcome: { value?: unknown; error?: AopsError } = await ask(client).then(
    (value) => ({ value }),
    (error: AopsError) => ({ error }),
  );
  const keys = server?.header('idempotency-key') ?? [];
  const { error } = outcome;
  expect(JSON.stringify([error, error?.stack, error?.hint, events])).not.toContain(secret);
  return {
    ...outcome,
    exit: error === undefined ? 0 : (error.exit ?? -1),
    message: error?.message ?? '',
    hint: error?.hint ?? '',
    attempts: server?.requests.length ?? 0,
    keys,
    distinctKeys: new Set(keys).size,
    waitTimes: clock.waitTimes,
    elapsedTime: clock.now() - startedAt,
    events,
    client,
    clock,
  };
}

/** A client that connects through this dispatcher. */
export const connectedBy =
  (dispatcher: Dispatcher) =>
  (options: ClientOptions): Client => {
    afterTest(() => dispatcher.destroy());
    return new (class extends Client {
      override dispatcher(): Promise<Dispatcher> {
        return Promise.resolve(dispatcher);
      }
    })(options);
  };

/** The connections that requests use from now on, until the test ends. */
export function connectionsUsed(): Socket[] {
  const sockets: Socket[] = [];
  const onSend = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  subscribe('undici:client:sendHeaders', onSend);
  afterTest(() => unsubscribe('undici:client:sendHeaders', onSend));
  return sockets;
}

/** Waits until the last of them has sent everything in its step, even if the answer is incomplete. */
export async function untilReceived(sockets: readonly Socket[], step: Step, request: RecordedRequest): Promise<void> {
  const { length } = step.bytes(request);
  await eventually('the client has what was sent', () => sockets.at(-1)?.bytesRead === length);
}

export const cliKey = 'sk-live-0123456789abcdef';

/** The real command line against the server. Its output never contains the credential or a stack trace. */
export async function cli(server: RawServer | { url: string }, argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const folder = await temporaryFolder();
  const result = await runCli(argv, {
    cwd: folder,
    ...options,
    env: {
      HOME: folder,
      AOPS_CONFIG_DIR: path.join(folder, 'config'),
      AOPS_DATA_DIR: path.join(folder, 'data'),
      AOPS_CACHE_DIR: path.join(folder, 'cache'),
      AOPS_API_KEY: cliKey,
      AOPS_BASE_URL: server.url,
      AOPS_TEAM_ID: 't1',
      ...options.env,
    },
  });
  for (const text of [result.stdout, result.stderr]) {
    expect(text).not.toContain(cliKey);
    expect(text).not.toContain(Buffer.from(cliKey).toString('base64'));
    expect(text).not.toMatch(/^ +at .*:\d+:\d+/m);
  }
  return result;
}
