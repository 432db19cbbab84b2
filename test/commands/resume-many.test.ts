/** Readers of several runs that are killed again and again, and continue with the token of the last line that they read. */
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../../src/base/errors.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import { randomFrom } from '../support/random.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();

const say = (from: number, to: number): string => Array.from({ length: to - from }, (_, index) => `- say: m${from + index}`).join('\n');

/** What a reader must see again: everything except the time at which it was observed, and its place among the events of other runs. */
const lasting = ({ type, data }: RunEvent) => ({ type, data });

const eventsOf = (stdout: string): RunEvent[] =>
  stdout
    .slice(0, stdout.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RunEvent);

/** A watch that misses an event might never end. */
const watchArguments = (runs: readonly string[]): string[] => [
  ...['runs', 'watch', ...runs, '-o', 'ndjson', '--on-request', 'wait', '--timeout', '15s'],
];

/**
 * Watches runs to their end with a reader that is killed after at most `maxEvents` lines. Lines that were written after its last one are
 * lost with it.
 */
async function readWithKills(runs: readonly string[], maxEvents: number, seed: number, onEvents: (events: RunEvent[]) => void) {
  const random = randomFrom(seed);
  const events: RunEvent[] = [];
  let interrupt: (() => void) | undefined;
  for (let kills = 0; kills < 500; kills += 1) {
    const token = events.at(-1)?.resume;
    const count = 1 + Math.floor(random() * maxEvents);
    const resume = token == null ? [] : ['--resume', token];
    const { stdout, code } = await service.cli([...watchArguments(runs), ...resume], {
      onStart: (stop) => {
        interrupt = stop;
      },
      onOutput: (stdout) => {
        if (interrupt === undefined) return;
        const lines = eventsOf(stdout);
        onEvents(lines.slice(0, count));
        if (lines.length < count) return;
        interrupt();
        interrupt = undefined;
      },
    });
    if (code === exitCodes.timeout) throw new Error('The watch does not end.');
    const lines = eventsOf(stdout);
    events.push(...lines.slice(0, count));
    if (lines.length <= count && code === 0) return { events, kills };
  }
  throw new Error('The runs do not end.');
}

it('rejects a token of other runs', async () => {
  const runs = [await service.run('- say: one'), await service.run('- say: two'), await service.run('- say: three')];
  for (const run of runs) await service.until(run, 'completed');
  const [first = '', second = '', third = ''] = runs;
  const token = eventsOf((await service.cli(watchArguments([first, second]))).stdout).at(-1)?.resume as string;
  const result = await service.cli([...watchArguments([first, third]), '--resume', token, '--json']);
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toContain(`contains run ${second}, which is not one of these runs`);
  // The order of the runs does not matter.
  expect(await service.cli([...watchArguments([second, first]), '--resume', token])).toMatchObject({ code: 0 });
});

it('ends a line that was cut off before the first event', async () => {
  const runs = [await service.run('- say: one'), await service.run('- say: two')];
  for (const run of runs) await service.until(run, 'completed');
  const whole = await service.cli(watchArguments(runs));
  const [first = '', second = ''] = whole.stdout.split('\n');
  const file = await service.file('events.ndjson', `${first}\n${second.slice(0, 9)}`);
  const rest = await service.cli([...watchArguments(runs), '--resume', `@${file}`]);
  expect(rest.stdout).toMatch(/^\n\{"v":1,"seq":2,/);
});

const ownEvents = (events: readonly RunEvent[], run: string, types?: readonly string[]) =>
  events.filter((event) => event.run_id === run && (types?.includes(event.type) ?? true)).map(lasting);

const watchWhole = async (runs: readonly string[]): Promise<RunEvent[]> => (await service.cli(watchArguments(runs))).lines<RunEvent>();

describe('a reader of several runs that is killed again and again and resumes', () => {
  it('receives every event of runs that have ended once, and in the order of its run', async () => {
    const runs = await Promise.all([30, 10, 50, 2, 20].map((count) => service.run(say(0, count))));
    // Until then, what a reader sees depends on when it looks.
    await Promise.all(runs.map((run) => service.until(run, 'completed')));
    const whole = await watchWhole(runs);
    let kills = 0;
    for (let seed = 1; kills < 25; seed += 1) {
      const result = await readWithKills(runs, 8, seed, () => undefined);
      kills += result.kills;
      expect(result.events.map(({ seq }) => seq)).toEqual(whole.map(({ seq }) => seq));
      for (const run of runs) expect(ownEvents(result.events, run)).toEqual(ownEvents(whole, run));
    }
  });

  it('receives every event of more than 50 runs once, with short tokens', async () => {
    const agent = await service.agent(say(0, 1));
    const runs: string[] = [];
    for (let count = 0; count < 60; count += 1) runs.push(await service.start(agent));
    for (const run of runs) await service.until(run, 'completed');
    const whole = await watchWhole(runs);
    const short = whole.filter(({ resume }) => resume.length < 50);
    expect(short.length).toBeGreaterThan(whole.length - 30);
    const token = short[Math.floor(short.length / 2)] as RunEvent;
    const result = await service.cli([...watchArguments(runs), '--resume', token.resume]);
    const events = [...whole.slice(0, token.seq), ...eventsOf(result.stdout)];
    expect(events.map(({ seq }) => seq)).toEqual(whole.map(({ seq }) => seq));
    for (const run of runs) expect(ownEvents(events, run)).toEqual(ownEvents(whole, run));
  });

  it('receives every message and request of runs in progress once, and in the order of its run', async () => {
    const steps = (count: number): string =>
      [0, 1, 2]
        .map((part) => `${say(part * count, part * count + count)}\n- approve: { id: go${part}, title: "Go on ${part}?" }`)
        .join('\n');
    const runs = await Promise.all([3, 5, 8, 2, 6].map(async (count) => service.start(await service.agent(steps(count)))));
    const answeredIds = new Set<string>();
    const answer = (events: RunEvent[]): void => {
      for (const { type, data, run_id } of events) {
        if (type !== 'human_request.pending' || answeredIds.has(data.human_request.id)) continue;
        answeredIds.add(data.human_request.id);
        void service.api('POST', `/runs/${run_id}/human-requests/${data.human_request.id}/respond`, { approved: true });
      }
    };
    const { events, kills } = await readWithKills(runs, 5, 1, answer);
    expect(kills).toBeGreaterThan(25);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    const whole = await watchWhole(runs);
    for (const run of runs) {
      // Requests are not among the events of runs that have ended.
      const types = ['message', 'run.finished'];
      expect(ownEvents(events, run, types)).toEqual(ownEvents(whole, run, types));
      const requestTypes = ['human_request.pending', 'human_request.resolved'];
      expect(ownEvents(events, run, requestTypes).map(({ type }) => type)).toEqual([...requestTypes, ...requestTypes, ...requestTypes]);
    }
  });
});
