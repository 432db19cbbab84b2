/**
 * People who press keys at random times on real pseudo-terminals, while another process answers the same requests at random times.
 * Whatever happens, no request is approved by a key that was pressed before the request had been visible for the grace period.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';
import { graceMs } from '../../src/terminal/prompting/keyboard.ts';
import { Machine } from '../support/machine.ts';
import { randomFrom } from '../support/random.ts';
import { keys } from '../support/screen.ts';

const terminals = 8;
/** Requests of each run, one after the other. */
const requests = 25;

interface Message {
  type: string;
  timestamp: string;
  text_content?: string;
}

let machine: Machine;
let url: string;
let token: string;
beforeAll(async () => {
  machine = await Machine.create();
  ({ url } = await machine.json<{ url: string }>('local', 'up', '--ephemeral'));
  ({ token } = await machine.json<{ token: string }>('local', 'token', 'create', 'interleavings', '--reveal'));
  const steps = Array.from(
    { length: requests },
    (_, index) => `- approve: { id: r${index}, title: "Request ${index}?", on_deny: continue }`,
  );
  await machine.agent('many', steps.join('\n'));
});

async function api<Value>(method: string, path: string, body?: unknown): Promise<Value> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v2${path}`, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  return (await response.json()) as Value;
}

/** How long a process has waited for a processor so far, in milliseconds; 0 if the system does not report it. */
const runDelayOf = (pid: number): number =>
  ignoreErrors(() => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6) ?? 0;

interface Press {
  at: number;
  isEnter: boolean;
  /** What `heldUp` reported then. */
  heldUp: number;
}

/** One person at a terminal and one process that denies. Returns the keys and the decisions, oldest first. */
async function interleave(seed: number): Promise<{ presses: Press[]; decisions: { at: number; approved: boolean }[]; startedAt: number }> {
  const random = randomFrom(seed);
  const startedAt = Date.now();
  const run = await machine.startRun('many');
  const controller = new AbortController();
  const presses: Press[] = [];
  const watchRuns = async (): Promise<void> => {
    for (;;) {
      const watch = machine.terminal('runs', 'watch', run);
      const typing = new AbortController();
      const person = (async () => {
        const choices = [
          keys.enter,
          keys.enter,
          keys.enter,
          keys.down,
          `${keys.down}${keys.enter}`,
          `${keys.down}${keys.enter}`,
          keys.up,
          'y',
          keys.space,
        ];
        while (!typing.signal.aborted) {
          // Bursts, as from a user who is looking elsewhere, and pauses of about the length of the grace period.
          await pause(random() < 0.5 ? graceMs * (0.5 + random()) : random() * 250);
          if (typing.signal.aborted) return;
          const key = choices[Math.floor(random() * choices.length)] as string;
          presses.push({ at: Date.now(), isEnter: key.includes(keys.enter), heldUp: runDelayOf(watch.pid) });
          watch.type(key);
        }
      })();
      const code = await watch.exit;
      typing.abort();
      await person;
      // A request that was left pending ends the watch with exit 12.
      if (code !== 12) {
        expect(code, watch.text).toBe(0);
        return;
      }
    }
  };
  const denying = async (): Promise<void> => {
    while (!controller.signal.aborted) {
      await pause(random() * 4_000, undefined, { signal: controller.signal });
      const { pending_human_request: request } = await api<{ pending_human_request: { id: string } | null }>('GET', `/runs/${run}`);
      if (request) await api('POST', `/runs/${run}/human-requests/${request.id}/respond`, { approved: false });
    }
  };
  const denial = denying().catch((error: unknown) => {
    if (!controller.signal.aborted) throw error;
  });
  await watchRuns();
  controller.abort();
  await denial;
  const { messages } = await api<{ messages: Message[] }>('GET', `/runs/${run}/messages?limit=50`);
  const decisions = messages
    .filter(({ type }) => type === 'human_response')
    .map(({ timestamp, text_content = '' }) => ({ at: Date.parse(timestamp), approved: text_content.startsWith('Approved') }));
  return { presses, decisions, startedAt };
}

it('approves no request by a key that was pressed before it had been visible for the grace period', async () => {
  const allResults = await Promise.all(Array.from({ length: terminals }, (_, index) => interleave(index + 1)));
  let approvals = 0;
  for (const [index, { presses, decisions, startedAt }] of allResults.entries()) {
    expect(decisions).toHaveLength(requests);
    for (const [request, { at, approved }] of decisions.entries()) {
      if (!approved) continue;
      approvals += 1;
      // The request did not exist before the one before it was decided, and was visible later still.
      const existedAt = decisions[request - 1]?.at ?? startedAt;
      const pressed = presses.findLast((press) => press.isEnter && press.at <= at) as Press;
      // A process that waits for a processor reads a key later than it was pressed.
      const delay = ((presses.find((press) => press.at > at) ?? presses.at(-1)) as Press).heldUp - pressed.heldUp;
      expect(pressed.at - existedAt + Math.max(0, delay), `seed ${index + 1}, request ${request}`).toBeGreaterThanOrEqual(graceMs);
    }
  }
  // Otherwise the above would prove nothing.
  expect(approvals).toBeGreaterThan((terminals * requests) / 10);
});
