/**
 * A thousand interleavings of faults between the client and a real service, by seed. Whatever happens, a change is carried out at
 * most once, and its reported outcome is correct, or unknown.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { AopsError } from '../../src/base/errors.ts';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import { OutcomeUnknownError } from '../../src/client/errors.ts';
import type { Body } from '../../src/interface/types.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { temporaryFolder, whenDone } from '../support/temporary.ts';
import { type Fault, FaultProxy } from './fault-proxy.ts';

const seed = 20_261_120;
const interleavings = 1_000;
const workers = 8;

/** Waits end immediately; the time limit of an attempt passes when the test decides. */
class ImpatientClock implements Clock {
  #now = Date.parse('2026-07-18T09:00:00.000Z');
  #expire = (): void => undefined;

  now(): number {
    return this.#now;
  }

  expire(): void {
    this.#now += 30_000;
    this.#expire();
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (milliseconds === 30_000) {
      return new Promise((resolve, reject) => {
        this.#expire = resolve;
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    }
    this.#now += milliseconds;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fault>({ kind: 'pass' }) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom('reset-at-head', 'reset-before', 'close-before', 'reset-after', 'close-after', 'late', 'overtaken')
      .map((kind): Fault => ({ kind }) as Fault),
  },
  { weight: 3, arbitrary: fc.double({ min: 0, max: 0.999, noNaN: true }).map((share): Fault => ({ kind: 'truncate', share })) },
  { weight: 1, arbitrary: fc.constantFrom<0 | 1>(0, 1).map((answer): Fault => ({ kind: 'twice', answer })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom<500 | 502 | 503 | 429>(500, 502, 503, 429), fc.boolean(), fc.constantFrom('0', '1', 'soon', '3600'))
      // A 429 means that nothing was done, so it is never sent after a change was carried out.
      .map(([status, after, retryAfter]): Fault => ({ kind: 'answer', status, after: after && status !== 429, retryAfter })),
  },
);

type Change = 'createAgent' | 'createSandbox' | 'postRunMessage';
const plans = fc.record({
  change: fc.oneof(
    { weight: 12, arbitrary: fc.constant<Change>('createAgent') },
    { weight: 8, arbitrary: fc.constant<Change>('createSandbox') },
    { weight: 1, arbitrary: fc.constant<Change>('postRunMessage') },
  ),
  faults: fc.array(fault, { minLength: 1, maxLength: 7 }),
});

let service: Service;
let proxy: FaultProxy;
let runId: string;
beforeAll(async () => {
  service = await startService({ dataDirectory: await temporaryFolder(), exec: 'off', rateLimit: { limit: 1e9, windowSeconds: 60 } });
  whenDone(() => service.close());
  proxy = await FaultProxy.start(service.url);
  whenDone(() => proxy.close());
  const client = clientFor('setup', service.url);
  const { agent } = await client.call('createAgent', { params: { teamId: service.teamId }, body: agentBody('host') });
  runId = (await client.call('startRun', { params: { teamId: service.teamId }, body: { agent_id: agent.id } })).run.id;
  await client.close();
});

const agentBody = (name: string): Body<'createAgent'> => ({
  name,
  build: {
    name: 'first',
    config: {
      version: 'v2',
      data: {
        models: { agent: { model: 'script' }, browsing: { provider: 'anthropic', model: 'none' } },
        input: 'version: 1\nsteps:\n  - say: hi\n',
      },
    },
  },
});

function clientFor(userAgent: string, baseUrl: string, clock?: Clock): Client {
  return new Client({ baseUrl, credential: bearerCredential(service.token), userAgent, random: () => 0.5, ...(clock ? { clock } : {}) });
}

/** The ID of what a change created. */
async function make(client: Client, change: Change, name: string): Promise<string> {
  if (change === 'createSandbox') return (await client.call('createSandbox', {})).sandbox_id;
  if (change === 'createAgent')
    return (await client.call('createAgent', { params: { teamId: service.teamId }, body: agentBody(name) })).agent.id;
  return (await client.call('postRunMessage', { params: { run_id: runId }, body: { message: name } })).message.id;
}

const idIn = (change: Change, body: string): string => {
  const answer = JSON.parse(body) as { sandbox_id: string; agent?: { id: string }; message?: { id: string } };
  return change === 'createSandbox' ? answer.sandbox_id : ((change === 'createAgent' ? answer.agent : answer.message) as { id: string }).id;
};

interface Report {
  number: number;
  change: Change;
  name: string;
  faults: Fault[];
  id?: string;
  error?: AopsError;
}

async function play(number: number, change: Change, faults: Fault[]): Promise<Report> {
  const name = `change-${number}`;
  const clock = new ImpatientClock();
  proxy.plans.set(name, { faults: [...faults], losePatience: () => clock.expire() });
  const client = clientFor(name, proxy.url, clock);
  const outcome = await make(client, change, name).then(
    (id) => ({ id }),
    (error: AopsError) => ({ error }),
  );
  await client.close();
  return { number, change, name, faults, ...outcome };
}

describe('a thousand interleavings of faults', () => {
  it('carry out every change at most once, and report the correct outcome or that it is unknown', { timeout: 300_000 }, async () => {
    const queue = fc.sample(plans, { seed, numRuns: interleavings }).entries();
    const reports: Report[] = [];
    const work = async (): Promise<void> => {
      for (const [number, { change, faults }] of queue) reports.push(await play(number, change, faults));
    };
    await Promise.all(Array.from({ length: workers }, work));
    await proxy.whenSettled();
    expect(reports).toHaveLength(interleavings);

    const made = await everythingMade();
    const tally = { done: 0, unknown: 0, refused: 0 };
    for (const report of reports) {
      const { change, name, id, error } = report;
      const answers = proxy.answersOf(name);
      const executions = answers.filter(({ status, isReplayed }) => status < 300 && !isReplayed);
      const details = JSON.stringify({ ...report, error: error?.message, answers });
      expect(executions.length, details).toBeLessThanOrEqual(1);
      expect(made.get(name) ?? executions.length, details).toBe(executions.length);
      if (error instanceof OutcomeUnknownError) tally.unknown += 1;
      else if (error instanceof AopsError) {
        tally.refused += 1;
        expect(executions.length, details).toBe(0);
      } else {
        tally.done += 1;
        expect(executions.length, details).toBe(1);
        expect(id, details).toBe(idIn(change, executions[0]?.body ?? ''));
      }
    }
    // Otherwise the test would prove little.
    expect(tally.done).toBeGreaterThan(500);
    expect(tally.unknown).toBeGreaterThan(100);
    expect(tally.refused).toBeGreaterThan(10);

    // The key that an unknown outcome names settles it, without a second execution.
    for (const report of reports.filter(({ error }) => error instanceof OutcomeUnknownError).slice(0, 60)) {
      const idempotencyKey = (report.error as AopsError).details.idempotency_key as string;
      const client = new Client({
        baseUrl: proxy.url,
        credential: bearerCredential(service.token),
        userAgent: report.name,
        idempotencyKey,
      });
      proxy.plans.set(report.name, { faults: [], losePatience: () => undefined });
      const id = await make(client, report.change, report.name);
      await client.close();
      const executions = proxy.answersOf(report.name).filter(({ status, isReplayed }) => status < 300 && !isReplayed);
      expect(executions.map(({ body }) => idIn(report.change, body))).toEqual([id]);
    }
  });
});

/** The number of agents and messages of each name in the service, without the proxy. */
async function everythingMade(): Promise<Map<string, number>> {
  const client = clientFor('truth', service.url);
  const counts = new Map<string, number>();
  const count = (name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (let offset = 0; ; offset += 100) {
    const { agents, total } = await client.call('listAgents', { params: { teamId: service.teamId }, query: { limit: 100, offset } });
    for (const { name } of agents) count(name);
    if (offset + 100 >= total) break;
  }
  for (let offset = 0; ; offset += 50) {
    const { messages, total } = await client.call('listRunMessages', { params: { run_id: runId }, query: { limit: 50, offset } });
    for (const { text_content } of messages) if (text_content?.startsWith('change-')) count(text_content);
    if (offset + 50 >= total) break;
  }
  await client.close();
  return counts;
}
