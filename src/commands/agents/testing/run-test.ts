/** Executes one test in its own team of the temporary service. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { anySignal } from '../../../base/abort.ts';
import { steadyTime } from '../../../base/clock.ts';
import { formatDuration } from '../../../base/duration.ts';
import { AopsError, exitCodes } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { readRunFile, runFileBytes, workspace } from '../../../client/transfers/run-files.ts';
import { prepareUpload } from '../../../client/transfers/transfer.ts';
import type { RunMessage } from '../../../interface/types.ts';
import { answerFromFile } from '../../../watch/answers.ts';
import { watchRun } from '../../../watch/watch-run.ts';
import { makeRepository } from './fixture-repository.ts';
import type { TemporaryService, TestTeam } from './temporary-service.ts';
import { makeCase } from './test-case.ts';
import type { LoadedTestFile, PlacedTest } from './test-file.ts';
import { createTestedAgent, type TestedAgent } from './tested-agent.ts';
import { type Failure, failuresOf, type Observation } from './verdict.ts';

/** Maximum size of a file that is compared, in bytes. */
const maxFileBytes = 16 * 1024 * 1024;
/** How long a test can take by default, in milliseconds. */
const defaultLimits = { script: 60_000, acp: 600_000 };

/** A test that can be executed. */
export interface PlannedTest extends PlacedTest {
  /** Unique among all tests. */
  number: number;
  file: LoadedTestFile;
  agent: TestedAgent;
  /** Milliseconds for the test. */
  limit: number;
}

export const limitOf = (own: number | undefined, file: number | undefined, flag: number | undefined, { runtime }: TestedAgent): number =>
  own ?? file ?? flag ?? defaultLimits[runtime];

export interface TestResult {
  planned: PlannedTest;
  milliseconds: number;
  /** Undefined if the run could not be started or observed. */
  observation: Observation | undefined;
  failures: Failure[];
}

/**
 * Executes a test. Whatever goes wrong in it is a failure of the test.
 * @throws the signal's reason
 */
export async function runTest(context: Context, service: TemporaryService, planned: PlannedTest, signal: AbortSignal): Promise<TestResult> {
  const { clock } = context;
  const start = steadyTime(clock);
  const end = new AbortController();
  const limit = new AbortController();
  const timer = clock.sleep(planned.limit, end.signal).then(
    () => limit.abort(),
    () => undefined,
  );
  let observation: Observation | undefined;
  let failures: Failure[];
  try {
    const team = await (planned.test.repository === undefined ? service.team(`test ${planned.number}`) : service.ownTeam());
    observation = await new Execution(context, service, planned, team, { signal, limit: limit.signal }).observe();
    signal.throwIfAborted();
    failures = failuresOf(planned.test, observation, planned.file.fixtures);
  } catch (error) {
    signal.throwIfAborted();
    const hint = error instanceof AopsError && error.hint !== undefined ? `\n${error.hint}` : '';
    const message = error instanceof Error ? `${error.message}${hint}` : String(error);
    failures = [{ expectation: 'status', message: limit.signal.aborted ? `${overdue(planned)}; its run had not started.` : message }];
  } finally {
    end.abort();
    await timer;
  }
  return { planned, milliseconds: steadyTime(clock) - start, observation, failures };
}

const overdue = ({ limit }: PlannedTest): string => `The test did not end within ${formatDuration(limit)}`;

class Execution {
  readonly #context: Context;
  readonly #service: TemporaryService;
  readonly #plannedTest: PlannedTest;
  readonly #team: TestTeam;
  /** The limit of the test. */
  readonly #limit: AbortSignal;
  /** Aborted by the limit, and by the command. */
  readonly #signal: AbortSignal;
  readonly #messages = new Map<string, RunMessage>();
  readonly #requests: string[] = [];
  /** ID of the case that started the run. */
  #case: string | undefined;
  #status = 'pending';
  #error: string | null = null;

  constructor(
    context: Context,
    service: TemporaryService,
    planned: PlannedTest,
    team: TestTeam,
    signals: { signal: AbortSignal; limit: AbortSignal },
  ) {
    this.#context = context;
    this.#service = service;
    this.#plannedTest = planned;
    this.#team = team;
    this.#limit = signals.limit;
    this.#signal = anySignal([signals.signal, signals.limit]);
  }

  async observe(): Promise<Observation> {
    const { agent: testedAgent, test, number } = this.#plannedTest;
    // Tests with repositories share a team, in which names are unique.
    const name = test.repository === undefined ? testedAgent.name : `${testedAgent.name} ${number}`;
    const agent = await createTestedAgent(this.#team, { ...testedAgent, name });
    const run = await this.#start(agent);
    let aborted: string | undefined;
    try {
      await this.#follow(run);
      for (const message of this.#laterMessages()) {
        if (this.#status !== 'completed') break;
        await this.#team.client.call('postRunMessage', { params: { run_id: run }, body: { message } }, { signal: this.#signal });
        await this.#follow(run);
      }
    } catch (error) {
      // A change that was in progress fails with an error of its own.
      if (!this.#limit.aborted) throw error;
      aborted = `${overdue(this.#plannedTest)}; the run was ${this.#status}.`;
    } finally {
      // It ends the agent's program and whatever else is executed, before the files are read.
      if (!['completed', 'failed', 'interrupted'].includes(this.#status)) await this.#stop(run);
    }
    return {
      status: this.#status,
      error: this.#error,
      messages: [...this.#messages.values()].flatMap(({ type, role, text_content: text }) =>
        type === 'message' && role === 'assistant' && text !== undefined ? [text] : [],
      ),
      requests: this.#requests,
      aborted,
      case: await this.#readCase(),
      files: await this.#readFiles(run),
    };
  }

  /** The messages after the one that starts the run. */
  #laterMessages(): readonly string[] {
    const { message } = this.#plannedTest.test;
    return Array.isArray(message) ? message.slice(1) : [];
  }

  async #start(agent: string): Promise<string> {
    const { message, files, repository, case: draft } = this.#plannedTest.test;
    const { client, id } = this.#team;
    const signal = this.#signal;
    if (draft !== undefined) {
      const made = await makeCase(this.#team, agent, draft, { clock: this.#context.clock, signal });
      this.#case = made.id;
      return made.run;
    }
    const first = Array.isArray(message) ? message[0] : message;
    const sandbox = files === undefined ? undefined : await this.#upload(files);
    const source = repository === undefined ? undefined : await this.#repository(repository);
    const body = {
      agent_id: agent,
      ...(first === undefined ? {} : { message: first }),
      ...(sandbox === undefined ? {} : { sandbox_id: sandbox }),
      ...(source === undefined ? {} : { repository: { path: source } }),
    };
    return (await client.call('startRun', { params: { teamId: id }, body }, { signal })).run.id;
  }

  #folder(kind: string): string {
    return path.join(this.#service.folder, kind, String(this.#plannedTest.number));
  }

  #repository(folder: string): Promise<string> {
    const source = path.resolve(this.#plannedTest.file.folder, folder);
    return makeRepository(source, this.#folder('repositories'), this.#context.env, this.#signal);
  }

  async #upload(files: NonNullable<PlannedTest['test']['files']>): Promise<string> {
    const { client } = this.#team;
    const { sandbox_id } = await client.call('createSandbox', {}, { signal: this.#signal });
    for (const [target, source] of Object.entries(files)) {
      const content = typeof source === 'string' ? Buffer.from(source) : (this.#plannedTest.file.fixtures.get(source.from) as Buffer);
      const file = path.join(this.#folder('files'), target);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, content);
      const upload = { file, size: content.length, target: path.posix.join(workspace, target) };
      await prepareUpload(client, sandbox_id, upload)({ signal: this.#signal });
    }
    return sandbox_id;
  }

  /** Follows the run until it has ended or waits for an answer that the test does not have. */
  async #follow(run: string): Promise<void> {
    const { client } = this.#team;
    const { clock } = this.#context;
    const finished = new AbortController();
    const signal = anySignal([this.#signal, finished.signal]);
    try {
      for await (const event of watchRun(client, run, { clock, signal })) {
        if (event.type === 'run.status') this.#status = event.data.status;
        else if (event.type === 'message') this.#messages.set(event.data.message.id, event.data.message);
        else if (event.type === 'run.finished') {
          this.#status = event.data.run.status;
          this.#error = event.data.run.error ?? null;
        } else if (event.type === 'human_request.pending') {
          const request = event.data.human_request;
          this.#requests.push(request.title);
          const answer = answerFromFile(this.#plannedTest.answers, request);
          this.#status = 'waiting';
          if (answer === undefined) return;
          const params = { run_id: run, request_id: request.id };
          await client.call('respondToHumanRequest', { params, body: answer }, { signal: this.#signal });
        }
      }
    } finally {
      finished.abort();
    }
  }

  async #stop(run: string): Promise<void> {
    await this.#team.client.call('stopRun', { params: { run_id: run } }, { once: true }).catch(() => undefined);
  }

  async #readCase(): Promise<Observation['case']> {
    if (this.#case === undefined) return undefined;
    const found = await this.#team.client.call('getCase', { params: { case_id: this.#case } });
    return { status: found.case.display_status, reasons: found.events.flatMap(({ reason }) => reason ?? []) };
  }

  /** The files that the test names, as the run left them. */
  async #readFiles(runId: string): Promise<Map<string, Buffer | undefined>> {
    const files = new Map<string, Buffer | undefined>();
    for (const file of Object.keys(this.#plannedTest.test.expect?.files ?? {})) files.set(file, await this.#readFile(runId, file));
    return files;
  }

  async #readFile(runId: string, file: string): Promise<Buffer | undefined> {
    const { client } = this.#team;
    // The limit of the test may have passed already.
    const { signal } = this.#context;
    try {
      const content = await readRunFile(client, { runId }, path.posix.join(workspace, file), signal);
      if (content.size > maxFileBytes) throw new Error(`${file} is too large to be compared (${content.size} bytes).`);
      const chunks: Uint8Array[] = [];
      for await (const chunk of runFileBytes(client, content, { signal })) chunks.push(chunk);
      return Buffer.concat(chunks);
    } catch (error) {
      if (error instanceof AopsError && error.exit === exitCodes.notFound) return undefined;
      throw error;
    }
  }
}
