/** Readers of the inbox that are killed again and again, and continue with the token of the last event that they kept. */
import { describe, expect, it } from 'vitest';
import type { PendingRequest } from '../../src/cli/following/pending-requests.ts';
import type { Context } from '../../src/cli/kit/context.ts';
import { type InboxEvent, watchInbox } from '../../src/commands/inbox/events.ts';
import { openInboxReading } from '../../src/commands/inbox/reading.ts';
import { randomFrom } from '../support/random.ts';
import { startTestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const startTime = Date.parse('2026-07-18T09:00:00.000Z');

/** Lists of pending requests: each contains other requests than the one before, or reminders of them. */
function scriptOf(lists: number, requests: number): PendingRequest[][] {
  const random = randomFrom(7);
  return Array.from({ length: lists }, (_, list) =>
    Array.from({ length: requests }, (_, index) => index)
      .filter(() => random() < 0.7)
      .map((index) => ({
        id: `q${index}.${Math.floor(list / 3)}`,
        run_id: `r${index}`,
        title: `Pay ${index}?`,
        ...(random() < 0.3 && { reminded_at: new Date(startTime + list).toISOString() }),
      })),
  ) as PendingRequest[][];
}

/** Reads to the end. Events after the token that a killed reader continues with are lost, as long as they are from the same list. */
async function readWithKills(script: readonly PendingRequest[][], random: () => number, share: number) {
  const context = {
    paths: { data: await temporaryFolder() },
    clock: { now: () => startTime, sleep: async () => undefined },
    teamId: () => 'team',
  } as unknown as Context;
  const kept: { event: InboxEvent; list: number }[] = [];
  let list = 0;
  let kills = -1;
  while (list < script.length) {
    kills += 1;
    const reading = await openInboxReading(context, kept.at(-1)?.event.resume ?? undefined, {});
    const stop = new AbortController();
    // The next list follows when all events of the last one were taken.
    const pace = {
      pause: async () => {
        list += 1;
        if (list === script.length) throw stop.signal;
      },
    };
    const load = async () => script[list] as PendingRequest[];
    const { start, tokenAfter } = reading;
    const options = { clock: context.clock, signal: stop.signal, pace: pace as never, tokenAfter, ...(start && { start }) };
    try {
      for await (const event of watchInbox(load, options)) {
        kept.push({ event, list });
        if (random() < share) break;
      }
    } catch (error) {
      if (error !== stop.signal) throw error;
    }
    reading.close();
    while (list < script.length && kept.at(-1)?.list === list && random() < 0.5) kept.pop();
  }
  return { events: kept.map(({ event }) => event), kills };
}

/** What a reader must see again. Tokens can differ in form. */
const lasting = ({ resume: _, ...event }: InboxEvent) => event;

describe('a reader of the inbox that is killed again and again and resumes', () => {
  it.each([
    { requests: 12, lists: 30, kills: 200, share: 0.3 },
    // With more than 50 requests, most tokens refer to a position of this machine.
    { requests: 150, lists: 12, kills: 60, share: 0.05 },
  ])('receives every event once and in order, with $requests requests', async ({ requests, lists, kills, share }) => {
    const script = scriptOf(lists, requests);
    const { events: whole } = await readWithKills(script, () => 1, 0);
    expect(new Set(whole.map(({ type }) => type)).size).toBe(3);
    let count = 0;
    for (let seed = 1; count < kills; seed += 1) {
      const result = await readWithKills(script, randomFrom(seed), share);
      count += result.kills;
      expect(result.events.map(lasting)).toEqual(whole.map(lasting));
    }
  });
});

describe('aops inbox --watch --resume', () => {
  it('prints what has happened since the token, and rejects a token of other filters', async () => {
    const service = await startTestService();
    const agent = await service.agent('- approve: { id: pay, title: "Pay?" }');
    const waiting = async () => {
      const run = await service.start(agent);
      await service.until(run, 'waiting');
      return run;
    };
    const [first, second] = [await waiting(), await waiting()];
    const watch = async (count: number, ...args: string[]) => {
      let interrupt: (() => void) | undefined;
      const result = await service.cli(['inbox', '--watch', '-o', 'ndjson', ...args], {
        onStart: (stop) => {
          interrupt = stop;
        },
        onOutput: (stdout) => {
          if (stdout.split('\n').length <= count) return;
          interrupt?.();
          interrupt = undefined;
        },
      });
      return result;
    };
    const events = (await watch(2)).lines<InboxEvent>();
    expect(events.map(({ run_id }) => run_id)).toEqual([first, second]);
    await service.api('POST', `/runs/${first}/stop`);
    const third = await waiting();
    for (const resume of [events[1]?.resume as string, 'auto']) {
      const rest = (await watch(2, '--resume', resume)).lines<InboxEvent>();
      expect(rest.map(({ seq, type, run_id }) => [seq, type, run_id])).toEqual(
        resume === 'auto'
          ? [
              [1, 'human_request.pending', second],
              [2, 'human_request.pending', third],
            ]
          : [
              [3, 'human_request.resolved', first],
              [4, 'human_request.pending', third],
            ],
      );
    }
    await service.api('POST', `/runs/${third}/stop`);
    expect((await watch(1, '--resume', 'auto')).lines<InboxEvent>()).toMatchObject([
      { seq: 3, type: 'human_request.resolved', run_id: third },
    ]);
    // A line that was cut off is ended before the first event.
    const cutOff = await service.file('events.ndjson', `${JSON.stringify(events[0])}\n{"seq":`);
    expect((await watch(2, '--resume', `@${cutOff}`)).stdout).toMatch(/^\n\{"v":1,"seq":2,/);
    const foreign = await service.cli(['inbox', '--watch', '-o', 'ndjson', '--type', 'approval', '--resume', events[0]?.resume as string]);
    expect(foreign.code).toBe(2);
    expect(foreign.stderr).toContain('The resume token belongs to the inbox, not to the inbox with these filters.');
    expect((await service.cli(['inbox', '--resume', 'auto'])).stderr).toContain('--resume requires --watch.');
  });
});
