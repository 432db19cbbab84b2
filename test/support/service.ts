/** A local service in this process for the tests of one file, and everything that they do with it besides the command line. */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { HumanRequest, Run, RunMessage } from '../../src/interface/types.ts';
import { type Service, type ServiceOptions, startService } from '../../src/service/service.ts';
import { CliTerminal } from './cli-terminal.ts';
import { checkDeclaredResult } from './declared-result.ts';
import { putEmptyDatabase } from './empty-database.ts';
import { eventually } from './eventually.ts';
import { reachingTests } from './outbound.ts';
import { databaseOptions } from './postgres.ts';
import { checkPrintedEvents } from './printed-events.ts';
import { type CliOptions, type CliResult, runCli } from './run-cli.ts';
import { temporaryFolder, whenDone } from './temporary.ts';

/** A run with its pending request, as returned by getRun. */
export interface SeenRun {
  run: Run;
  request: HumanRequest | null;
}

/** The environment of a command line whose configuration, data and cache are all in `folder`. */
export const folderEnv = (folder: string): Record<string, string> => ({
  HOME: path.join(folder, 'home'),
  AOPS_CONFIG_DIR: path.join(folder, 'config'),
  AOPS_DATA_DIR: path.join(folder, 'data'),
  AOPS_CACHE_DIR: path.join(folder, 'cache'),
});

/** Starts a service on a free port that may run commands; it ends after the last test of the file. */
export async function startTestService(options: Partial<ServiceOptions> = {}): Promise<TestService> {
  const folder = await temporaryFolder();
  await mkdir(path.join(folder, 'home'));
  const dataDirectory = path.join(folder, 'service');
  await putEmptyDatabase(dataDirectory);
  const service = await startService({
    exec: 'host',
    ...(await databaseOptions(dataDirectory)),
    ...options,
    ...reachingTests(options),
    dataDirectory,
  });
  whenDone(() => service.close());
  return new TestService(folder, service);
}

export class TestService {
  /** The current folder of the command line, which contains its configuration and the test's files. */
  readonly folder: string;
  readonly service: Service;
  /** Signed in through the environment, without a profile. */
  readonly env: Record<string, string>;
  #names = 0;

  constructor(folder: string, service: Service) {
    this.folder = folder;
    this.service = service;
    this.env = { ...folderEnv(folder), AOPS_API_KEY: service.token, AOPS_BASE_URL: service.url, AOPS_TEAM_ID: service.teamId };
  }

  get dataDirectory(): string {
    return path.join(this.folder, 'service');
  }

  /** Runs the command line in the folder, signed in. */
  async cli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    const result = await runCli(argv, { cwd: this.folder, ...options, env: { ...this.env, ...options.env } });
    await checkDeclaredResult(argv, result);
    checkPrintedEvents(argv, result.stdout);
    return result;
  }

  /** The same for a person at a terminal. */
  terminal(...argv: string[]): CliTerminal {
    return new CliTerminal(argv, { cwd: this.folder, env: this.env });
  }

  /** Writes a file in the folder and returns its path. */
  async file(name: string, content: string | Uint8Array): Promise<string> {
    const file = path.join(this.folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
    return file;
  }

  read(name: string): Promise<string> {
    return readFile(path.join(this.folder, name), 'utf8');
  }

  /** A request without the command line. @throws Error for an error status */
  async api<Answer>(method: 'GET' | 'POST' | 'DELETE', route: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.service.url}/v2${route}`, {
      method,
      headers: {
        authorization: `Bearer ${this.service.token}`,
        ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route} -> ${response.status} ${text}`);
    return JSON.parse(text) as Answer;
  }

  /** Creates an agent with these steps (YAML list items without indentation), and returns its ID. */
  async agent(steps: string, name = `agent-${++this.#names}`): Promise<string> {
    const input = `version: 1\nsteps:\n${steps.trim().replace(/^/gm, '  ')}\n`;
    const config = {
      version: 'v2',
      data: { models: { agent: { model: 'script' }, browsing: { provider: 'anthropic', model: 'none' } }, input },
    };
    const { agent } = await this.api<{ agent: { id: string } }>('POST', `/teams/${this.service.teamId}/agents`, {
      name,
      build: { name: 'first', config },
    });
    return agent.id;
  }

  async start(agentId: string, message?: string): Promise<string> {
    const { run } = await this.api<{ run: Run }>('POST', `/teams/${this.service.teamId}/runs`, {
      agent_id: agentId,
      ...(message === undefined ? {} : { message }),
    });
    return run.id;
  }

  /** Starts a run of a new agent with these steps, and returns its ID. */
  async run(steps: string, message?: string): Promise<string> {
    return this.start(await this.agent(steps), message);
  }

  async get(runId: string): Promise<SeenRun> {
    const { run, pending_human_request: request } = await this.api<{ run: Run; pending_human_request: HumanRequest | null }>(
      'GET',
      `/runs/${runId}`,
    );
    return { run, request };
  }

  /** Starts such a run, and waits until it waits for a person. */
  async waiting(steps: string): Promise<string> {
    const run = await this.run(steps);
    await this.until(run, 'waiting');
    return run;
  }

  /** The texts of a run's messages. */
  async texts(run: string): Promise<(string | null | undefined)[]> {
    return (await this.messages(run)).map(({ text_content }) => text_content);
  }

  /** Resolves to the run once it has one of these statuses. */
  until(runId: string, ...statuses: Run['status'][]): Promise<SeenRun> {
    return eventually(`run ${runId} is ${statuses.join(' or ')}`, async () => {
      const runDetail = await this.get(runId);
      return statuses.includes(runDetail.run.status) && runDetail;
    });
  }

  async messages(runId: string): Promise<RunMessage[]> {
    return (await this.api<{ messages: RunMessage[] }>('GET', `/runs/${runId}/messages?limit=50`)).messages;
  }

  async countRuns(): Promise<number> {
    return (await this.api<{ total: number }>('GET', `/teams/${this.service.teamId}/runs?limit=1`)).total;
  }

  async countAgents(): Promise<number> {
    return (await this.api<{ total: number }>('GET', `/teams/${this.service.teamId}/agents?limit=1`)).total;
  }
}
