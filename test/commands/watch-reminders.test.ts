/** Reminders of human requests in `runs watch` and `runs wait`, with the service's streams and by polling. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Transcript } from '../../src/cli/records/transcript.ts';
import { TranscriptSink } from '../../src/commands/runs/sinks.ts';
import { plainStyles } from '../../src/terminal/style.ts';
import type { RunEvent } from '../../src/watch/events.ts';
import { Forwarder } from '../support/forwarder.ts';
import { expectHarmless } from '../support/hostile-text.ts';
import { startTestService } from '../support/service.ts';

/** How far the clock of the service is ahead, in milliseconds. */
let lead = 0;
const service = await startTestService({ clock: { ...systemClock, now: () => Date.now() + lead } });
const pay = '- approve: { id: pay, title: "Pay?" }\n- say: paid';

/** Lets the service remind of everything that is pending. */
async function remind(): Promise<void> {
  lead += 2 * 3_600_000;
  for (const after of ['off', '1m']) await service.cli(['local', 'team', 'update', service.service.teamId, '--remind-after', after]);
}

/** Runs a command that watches runs. When its output contains the request, the service reminds of it; after the reminder, it is answered. */
async function watch(ids: readonly string[], argv: readonly string[], signs: { pending: string; reminder: string }, env = {}) {
  let work: Promise<unknown> | undefined;
  let isReminded = false;
  const answer = async (): Promise<void> => {
    for (const id of ids)
      await service.api('POST', `/runs/${id}/human-requests/${(await service.get(id)).request?.id}/respond`, { approved: true });
  };
  const onOutput = (stdout: string, stderr: string): void => {
    const count = (sign: string): number => `${stdout}${stderr}`.split(sign).length - 1;
    if (work === undefined && count(signs.pending) === ids.length) work = remind();
    if (isReminded || count(signs.reminder) < ids.length) return;
    isReminded = true;
    work = Promise.resolve(work).then(answer);
  };
  const result = await service.cli(argv, { onOutput, env });
  await work;
  return result;
}

it.each(['streams', 'polling'])('watching one run or several reports them, with %s', async (way) => {
  const forwarder = await Forwarder.to(service.service.url);
  forwarder.streams = way === 'streams';
  for (const count of [1, 2]) {
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) ids.push(await service.waiting(pay));
    const argv = ['runs', 'watch', ...ids, '-o', 'ndjson', '--on-request', 'wait'];
    const signs = { pending: '"human_request.pending"', reminder: '"human_request.reminder"' };
    const result = await watch(ids, argv, signs, { AOPS_BASE_URL: forwarder.url });
    expect(result.code).toBe(0);
    const events = result.lines<RunEvent>();
    for (const id of ids) {
      const own = events.filter(({ run_id }) => run_id === id);
      expect(own.map(({ type }) => type).filter((type) => type.startsWith('human_request'))).toEqual([
        ...['human_request.pending', 'human_request.reminder', 'human_request.resolved'],
      ]);
      const reminder = own.find((event) => event.type === 'human_request.reminder');
      expect(reminder?.data).toMatchObject({ human_request: { title: 'Pay?', reminders: 1, reminded_at: expect.any(String) } });
      // Whoever continues after the reminder gets the others. A status that lasted only briefly may be missing then.
      if (count > 1) continue;
      const rest = await service.cli([...argv, '--resume', reminder?.resume ?? '']);
      const lasting = (from: readonly RunEvent[]) =>
        from
          .map(({ type }) => type)
          .filter((type) => type !== 'run.status')
          .toSorted();
      expect(lasting(rest.lines<RunEvent>())).toEqual(lasting(own.slice(own.indexOf(reminder as RunEvent) + 1)));
    }
  }
});

it('watching prints them as lines', async () => {
  const id = await service.waiting(pay);
  const result = await watch([id], ['runs', 'watch', id, '--on-request', 'wait'], { pending: '? Pay?', reminder: '! Pay?' });
  expect(result.stdout).toMatch(/^\? Pay\?\n! Pay\? \(waiting for .+\)\n/m);
});

it.each([1, 2])('waiting for %i of them runs the command of --exec', async (count) => {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await service.waiting(pay));
  const argv = ['runs', 'wait', ...ids, '--exec', 'echo "$AOPS_EVENT: $AOPS_REQUEST_TITLE"'];
  const result = await watch(ids, argv, { pending: 'human_request.pending: Pay?', reminder: 'human_request.reminder: Pay?' });
  expect([result.code, result.stderr]).toEqual([0, expect.not.stringContaining('Reminder: ')]);
});

it('waiting for several of them shows a person which of them waits for what, in harmless text', async () => {
  const steps = '- approve: { id: pay, title: "Pay\\u001b[2J?" }';
  const runs = [await service.waiting(steps), await service.waiting(steps)];
  const terminal = service.terminal('runs', 'wait', ...runs);
  await terminal.shows('Waiting for 2 runs of 2');
  await remind();
  await terminal.shows(/Reminder: \S+#\d+ has been waiting for \d+s: Pay\S*\?\n/);
  terminal.interrupt();
  const { code, stderr } = await terminal.end;
  expect(code).toBe(130);
  expectHarmless(stderr);
});

it('prints no reminder of a request whose prompt is on the screen', async () => {
  const lines: string[] = [];
  const printed: string[] = [];
  const write = async (line: string): Promise<void> => void lines.push(line);
  const sink = new TranscriptSink(write, new Transcript(plainStyles, 80), plainStyles, systemClock, undefined, true, async ({ type }) => {
    printed.push(type);
  });
  const human_request = { title: 'Pay?', created_at: new Date().toISOString() };
  const reminder = { v: 1, seq: 1, type: 'human_request.reminder', run_id: 'x', ts: '', data: { human_request } } as RunEvent;
  sink.hold();
  await sink.event(reminder);
  await sink.resume(false);
  expect([lines, printed]).toEqual([[], ['human_request.reminder']]);
  await sink.event(reminder);
  expect(lines).toEqual(['! Pay? (waiting for 0s)']);
  sink.close();
});
