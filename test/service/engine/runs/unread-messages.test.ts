/** Messages that are sent while a procedure is in progress: the steps that follow can read them, and otherwise it is executed again. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunHost } from '../../../../src/service/runtimes/run-host.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { type Behaviour, Gate } from '../../helpers/runtime.ts';
import { scripted } from '../../helpers/scripted.ts';
import { startApi } from '../../helpers/service.ts';

/** A run that was started with the message `first`, and its procedure, which says things and sleeps for an hour. */
async function sleepingRun(steps: string) {
  const clock = new ManualClock();
  const sleeps: Gate[] = [];
  let executions = 0;
  const advance = async (host: RunHost) => {
    const outcome = await scriptRuntime.advance(host);
    // It is decided until when.
    if (outcome.status === 'sleeping') nth(executions++).open();
    return outcome;
  };
  const nth = (index: number): Gate => (sleeps[index] ??= new Gate());
  const { api, agentId } = await scripted(steps, { clock, runtimes: [{ ...scriptRuntime, advance }] });
  const { run } = await api.ok('startRun', { body: { agent_id: agentId, message: 'first' } });
  const params = { run_id: run.id };
  let awaited = 0;
  /** Resolves when it has gone to sleep once more. */
  const asleep = (): Promise<void> => nth(awaited++).opened;
  await asleep();
  return {
    send: (message: string) => api.ok('postRunMessage', { params, body: { message } }),
    stop: () => api.ok('stopRun', { params }),
    asleep,
    /** Ends the sleep. */
    wake: () => clock.advance(3_600_000),
    /** What the run says until it has completed. */
    async end(): Promise<string[]> {
      await api.until(run.id, 'completed');
      return api.texts(run.id);
    },
  };
}

it('a message that is sent during the last step begins another turn', async () => {
  const { send, wake, asleep, end } = await sleepingRun('  - say: "heard {{ message }}"\n  - sleep: 1h\n');
  await send('second');
  wake();
  await asleep();
  wake();
  expect(await end()).toEqual(['first', 'heard first', 'second', 'heard second']);
});

it('a message that no later step reads begins another turn, even if a text mentions messages', async () => {
  const steps = '  - say: "heard {{ message }}"\n  - sleep: 1h\n  - say: "This was about a message."\n';
  const { send, wake, asleep, end } = await sleepingRun(steps);
  await send('second');
  wake();
  await asleep();
  wake();
  const bye = 'This was about a message.';
  expect(await end()).toEqual(['first', 'heard first', 'second', bye, 'heard second', bye]);
});

it.each([
  ['text', 'say: "bye {{ message }}"', ['bye second']],
  ['loop', 'say: "bye{% for text in messages %} {{ text }}{% endfor %}"', ['bye first second']],
  ['condition', 'if: message == "second"\n    say: bye', ['bye']],
])('a message that a later step reads in a %s begins no other turn', async (_, step, texts) => {
  const { send, wake, end } = await sleepingRun(`  - sleep: 1h\n  - ${step}\n  - say: done\n`);
  await send('second');
  wake();
  expect(await end()).toEqual(['first', 'second', ...texts, 'done']);
});

it('a message that continues a stopped run begins no other turn', async () => {
  const { send, stop, asleep, wake, end } = await sleepingRun('  - say: hello\n  - sleep: 1h\n  - say: bye\n');
  await stop();
  await send('continue');
  await asleep();
  wake();
  expect(await end()).toEqual(['first', 'hello', 'continue', 'bye']);
});

describe('whatever happens', () => {
  const step = fc.record({
    reads: fc.boolean(),
    /** When a person sends a message during the step. */
    sends: fc.constantFrom('never', 'before', 'after'),
    /** Whether another execution continues before the step. */
    sleeps: fc.boolean(),
  });
  type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
  const stepsPerTurn = 3;

  it.each([
    ['with its last step', { status: 'completed' as const }],
    ['after its last step', undefined],
  ])('a run that ends %s has read each message, or a turn has begun with it', async (_, end) => {
    let behaviour: Behaviour;
    const api = await startApi({ behaviours: { planned: (host) => behaviour(host) } });
    const agent_id = await api.agent('planned');
    const property = async (plan: Step[]) => {
      let [sent, handled, turns, index, slept] = [1, 0, 0, 0, -1];
      const send = async ({ run: { id } }: RunHost) => {
        await api.ok('postRunMessage', { params: { run_id: id }, body: { message: String(++sent) } });
      };
      behaviour = async (host) => {
        if (host.journal.size === 0) {
          handled = sent;
          if (slept < index) turns += 1;
        }
        for (let number = 0; number < stepsPerTurn; number += 1) {
          if (host.journal.has(`${number}`)) continue;
          const { reads, sends, sleeps } = plan[index] ?? { reads: false, sends: 'never', sleeps: false };
          if (sleeps && slept < index) {
            slept = index;
            return { status: 'sleeping', until: host.clock.now() };
          }
          index += 1;
          if (sends === 'before') await send(host);
          if (reads) handled = Math.max(handled, host.userMessages.length);
          if (sends === 'after') await send(host);
          await host.commit(`${number}`, null, [], undefined, number === stepsPerTurn - 1 ? end : undefined);
        }
        return { status: 'completed' };
      };
      const { run } = await api.ok('startRun', { body: { agent_id, message: '1' } });
      await api.until(run.id, 'completed');
      expect(handled).toBe(sent);
      expect(turns).toBeLessThanOrEqual(sent);
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 9 }), property), { numRuns: 40, seed: 1 });
  });
});
