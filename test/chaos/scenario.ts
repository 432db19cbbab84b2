/** One chaos run on one kind of database: the service is started, loaded, disturbed, and read at the end. */
import { setTimeout as pause } from 'node:timers/promises';
import { ChaosClient } from './client.ts';
import { Cluster, type DatabaseKind } from './cluster.ts';
import { type FaultKind, Faults, faultCount, planFaults } from './faults.ts';
import { Ledger } from './ledger.ts';
import { Person, prepare, runLoad, type Setup } from './load.ts';
import type { Observation } from './observation.ts';
import { Progress } from './progress.ts';
import { RandomChoices } from './random-choices.ts';
import { readSchedules, readWork } from './reading.ts';
import { ChaosReceiver } from './receiver.ts';
import { ServiceClock } from './service-clock.ts';

export interface ScenarioSettings {
  kind: DatabaseKind;
  seed: number;
  /** How many runs and cases the load consists of. */
  items: number;
  /** An empty folder. */
  folder: string;
  note: (text: string) => void;
  log: (name: string, text: string) => void;
}

/** What a chaos run has shown. */
export interface ScenarioResult {
  observation: Observation;
  faults: ReadonlyMap<FaultKind, number>;
  client: ChaosClient['figures'];
  /** Jobs that a node took over from another one, as far as the counter survived. */
  takeovers: number;
  seconds: number;
}

/** Milliseconds after the last fault without any progress, after which the rest counts as stuck. */
const settleLimit = 120_000;
/** Milliseconds between notes about what is left. */
const notePause = 10_000;
/** Milliseconds by which the clock is set forward so that deliveries that failed twice are tried again. */
const retryJump = 6 * 60_000;
/** Milliseconds from the start until the first minute begins, so that schedules fire also in a short run. */
const firstMinute = 15_000;

/** @throws Error if the service cannot be started, refuses a request, or does not finish its work */
export async function runScenario({ kind, seed, items, folder, note, log }: ScenarioSettings): Promise<ScenarioResult> {
  const startedAt = performance.now();
  const random = new RandomChoices(seed);
  const offset = 60_000 - ((Date.now() + firstMinute) % 60_000);
  const receiver = await ChaosReceiver.start(new RandomChoices(seed + 1));
  const cluster = await Cluster.start({ kind, folder, offset, log });
  try {
    const { token, team } = await cluster.access();
    const client = new ChaosClient(cluster, token);
    const ledger = new Ledger(`${folder}/acknowledged.ndjson`);
    const setup = await prepare(client, ledger, team, receiver.url);
    const clock = new ServiceClock(cluster, offset);
    const progress = new Progress(items);
    const faults = new Faults({ cluster, clock, progress, random: new RandomChoices(seed + 2), note });
    const person = new Person({ client, ledger, setup });
    await Promise.race([
      Promise.all([
        runLoad({ client, ledger, setup, random, progress }, items),
        faults.inject(planFaults(kind, faultCount(kind, items), random)),
      ]),
      person.failure,
    ]);
    note('settling');
    const schedules = await disableSchedules(client, setup, clock);
    await Promise.race([settle(client, setup, clock, note), person.failure]);
    await person.leave();
    const work = await readWork(client, setup);
    let takeovers = 0;
    for (const url of cluster.urls) takeovers += await client.metric(url, /^aops_jobs_taken_over_total\{[^}]*\} (\d+)$/gm);
    return {
      observation: {
        acknowledged: ledger.entries,
        ...work,
        ...schedules,
        received: receiver.events(setup.secret),
        skipped: clock.skipped,
      },
      ...{ faults: faults.counts, client: client.figures, takeovers, seconds: (performance.now() - startedAt) / 1_000 },
    };
  } finally {
    await cluster.close();
    await receiver.close();
  }
}

/** Reads the schedules as they are after the faults, and ends them. */
async function disableSchedules(
  client: ChaosClient,
  setup: Setup,
  clock: ServiceClock,
): Promise<Pick<Observation, 'schedules' | 'readAt'>> {
  const schedules = await readSchedules(client, setup);
  const readAt = clock.now();
  for (const id of setup.schedules)
    await client.change('PATCH', `/v2/agents/${setup.agents.scheduled}/schedules/${id}`, { enabled: false });
  return { schedules, readAt };
}

/** Waits until nothing is left to do, or until that takes too long: the properties then name what is left. */
async function settle(client: ChaosClient, { team, queue }: Setup, clock: ServiceClock, note: (text: string) => void): Promise<void> {
  const base = `/v2/teams/${team}`;
  const total = async (path: string): Promise<number> => (await client.read<{ total: number }>(path)).total;
  let progress = { state: '', at: performance.now() };
  let hasJumped = false;
  let notedAt = performance.now();
  for (let quietRounds = 0; performance.now() - progress.at < settleLimit; await pause(250)) {
    const active = (await total(`${base}/runs?limit=1`)) - (await countEnded(total, base));
    const cases = await total(`/v2/queues/${queue}/cases?limit=1&status=pending,claimed,needs_input,postponed`);
    const pending = await total(`${base}/webhook-deliveries?limit=1&status=pending`);
    if (active === 0 && cases === 0 && pending === 0) return;
    const state = `${active} ${cases} ${pending}`;
    if (state !== progress.state) progress = { state, at: performance.now() };
    if (performance.now() - notedAt > notePause) {
      notedAt = performance.now();
      note(`remaining: ${active} runs, ${cases} cases, ${pending} deliveries`);
    }
    quietRounds = active === 0 && cases === 0 ? quietRounds + 1 : 0;
    // Only deliveries are left, whose second retry is minutes away.
    if (quietRounds > 30 && !hasJumped) {
      hasJumped = true;
      await clock.jump(retryJump);
    }
  }
}

async function countEnded(total: (path: string) => Promise<number>, base: string): Promise<number> {
  let count = 0;
  for (const status of ['completed', 'failed', 'interrupted']) count += await total(`${base}/runs?limit=1&status=${status}`);
  return count;
}
