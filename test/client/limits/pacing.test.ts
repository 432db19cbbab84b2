/** The waits of the client, and what is reported about them. */
import { describe, expect, it } from 'vitest';
import { Pacer, type PacerOptions } from '../../../src/client/limits/pacing.ts';
import { RateGate } from '../../../src/client/limits/rate-gate.ts';
import { ManualClock } from '../../service/helpers/clock.ts';
import { failureOf } from '../harness.ts';

const start = Date.parse('2026-07-18T09:00:00.000Z');
const { signal } = new AbortController();
const turn = () => new Promise((resolve) => setImmediate(resolve));

function newPacer(options: Partial<PacerOptions> = {}) {
  const clock = new ManualClock();
  const gate = new RateGate(clock, () => 0);
  const reports: (number | 'resumed')[] = [];
  const pacer = new Pacer({
    clock,
    gate,
    maxWait: 60_000,
    deadline: undefined,
    onWaiting: (milliseconds) => reports.push(milliseconds),
    onResumed: () => reports.push('resumed'),
    ...options,
  });
  return { clock, gate, pacer, reports };
}

describe('entering', () => {
  it('an open gate does not wait', async () => {
    const { pacer, reports } = newPacer();
    await pacer.enter(signal, {});
    expect(reports).toEqual([]);
  });

  it('does not take a place after an abort', async () => {
    const { pacer, gate } = newPacer();
    await expect(pacer.enter(AbortSignal.abort(new Error('enough')), {})).rejects.toThrow('enough');
    expect(gate.enter()).toEqual({ next: 'go' });
  });

  it('waits until another request has completed', async () => {
    const { pacer, gate, reports } = newPacer();
    await pacer.enter(signal, {});
    let hasEntered = false;
    const second = pacer.enter(signal, {}).then(() => {
      hasEntered = true;
    });
    await turn();
    expect(hasEntered).toBe(false);
    gate.leave();
    await second;
    expect(reports).toEqual([]);
  });

  it('reports waits for the same moment once, a longer one again, and the end of the last one', async () => {
    const { pacer, gate, clock, reports } = newPacer();
    gate.close(5_000);
    const pendingWaits = [pacer.enter(signal, {}), pacer.enter(signal, {})];
    gate.close(8_000);
    pendingWaits.push(pacer.enter(signal, {}), pacer.enter(signal, {}));
    expect(reports).toEqual([5_000, 8_000]);
    clock.advance(5_000);
    await turn();
    clock.advance(3_000);
    await turn();
    // The first request finds out that there is no limit any more.
    gate.observe({}, clock.now(), clock.now());
    await Promise.all(pendingWaits);
    expect(reports).toEqual([5_000, 8_000, 'resumed']);
  });

  it('reports a shorter wait after a longer one has ended', async () => {
    const { pacer, gate, clock, reports } = newPacer();
    gate.close(9_000);
    const first = pacer.enter(signal, {});
    clock.advance(9_000);
    await first;
    gate.leave();
    gate.close(2_000);
    const second = pacer.enter(signal, {});
    clock.advance(2_000);
    await second;
    expect(reports).toEqual([9_000, 'resumed', 2_000, 'resumed']);
  });

  it('reports the end of a wait that is aborted, and another wait for the same moment', async () => {
    const { pacer, gate, reports } = newPacer();
    gate.close(9_000);
    const controller = new AbortController();
    const failure = failureOf(pacer.enter(controller.signal, {}));
    controller.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
    expect(reports).toEqual([9_000, 'resumed']);
    void pacer.enter(signal, {});
    expect(reports).toEqual([9_000, 'resumed', 9_000]);
  });

  it.each([
    ['a longer wait than the user allows', { maxWait: 29_999 }, { exit: 7, code: 'rate_limited' }],
    ['a wait that ends at the deadline', { deadline: start + 30_000 }, { exit: 9, code: 'timeout' }],
    ['a wait that ends after the deadline', { deadline: start - 1 }, { exit: 9, message: expect.stringContaining('leaves only 0ms') }],
  ])('does not start %s', async (_, options, expected) => {
    const { pacer, gate, reports } = newPacer(options);
    gate.close(30_000);
    const details = { path: '/v2/runs', retry_after_seconds: 30 };
    expect(await failureOf(pacer.enter(signal, details))).toMatchObject({
      ...expected,
      details: { ...details, reset_at: '2026-07-18T09:00:30.000Z' },
    });
    expect(reports).toEqual([]);
  });

  it.each([{ maxWait: 30_000 }, { deadline: start + 30_001 }])('waits as long as allowed (%j)', async (options) => {
    const { pacer, gate, clock, reports } = newPacer(options);
    gate.close(30_000);
    const entry = pacer.enter(signal, {});
    clock.advance(30_000);
    await entry;
    expect(reports).toEqual([30_000, 'resumed']);
  });
});

describe('a pause', () => {
  it('is reported when it starts, and ends after its time', async () => {
    for (const deadline of [undefined, start + 501]) {
      const { pacer, clock, reports } = newPacer({ deadline });
      const events: string[] = [];
      const pause = pacer.pause(500, 'the service answered 500', signal, {}, () => events.push('started')).then(() => events.push('ended'));
      clock.advance(499);
      await turn();
      expect(events).toEqual(['started']);
      clock.advance(1);
      await pause;
      expect([events, reports]).toEqual([['started', 'ended'], []]);
    }
  });

  it('that would end at the deadline is not started', async () => {
    const { pacer } = newPacer({ deadline: start + 500 });
    const starts: string[] = [];
    const failure = failureOf(pacer.pause(500, 'the service answered 500', signal, { path: '/v2' }, () => starts.push('started')));
    expect(await failure).toMatchObject({
      exit: 9,
      message: expect.stringContaining('the service answered 500'),
      details: { path: '/v2' },
    });
    expect(starts).toEqual([]);
  });
});
