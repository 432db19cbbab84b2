import { afterEach, beforeEach, expect, it } from 'vitest';
import type { HumanAnswer } from '../../../../src/service/runtimes/run-host.ts';
import { drive, type JournalTransaction, TestHost, type TestSandbox, testSandbox } from './host.ts';

let place: TestSandbox;
beforeEach(async () => {
  place = await testSandbox();
});
afterEach(() => place.remove());

const procedure = `version: 1
steps:
  - say: "Reading {{ message }}"
  - tool: { id: lookup, name: erp.lookup, arguments: { for: "{{ message }}" }, result: { rows: 3 }, takes: 2s }
  - write: { path: in.csv, content: "a,1\\nb,2\\n" }
  - exec: { id: count, run: "wc -l < in.csv | tr -d ' '" }
  - { if: steps.count.stdout == "2", say: "{{ steps.count.stdout }} lines, {{ steps.lookup.rows }} rows" }
  - { if: steps.count.stdout == "3", fail: never }
  - exec: { id: fails, run: "exit 4", on_error: continue }
  - ask: { id: who, questions: [ { question: "Who has {{ steps.count.stdout }}?", options: [ { label: A }, { label: B } ], multi_select: true } ] }
  - sleep: 1m
  - approve: { id: pay, title: "Pay {{ answers.who }}?", on_deny: continue }
  - { if: answers.pay, say: paid }
  - write: { path: done.json, json: { who: "{{ answers.who }}", paid: "{{ answers.pay }}", failed: "{{ steps.fails.exit_code }}" } }
  - approve: { id: more, title: "More?", on_deny: { say: "No more: {{ steps.more.reason }}" } }
  - say: never
`;
const answers: Record<string, HumanAnswer> = {
  '8-ask': { type: 'question', answers: { 'Who has 2?': ['A', 'B'] } },
  '10-approve': { type: 'approval', approved: true },
  '13-approve': { type: 'approval', approved: false, reason: 'enough' },
};

it('produces the same events and outcome from every point at which a run can be interrupted', async () => {
  const wholeHost = new TestHost(procedure, place.sandbox, { answers });
  const outcome = await drive(wholeHost);
  expect(outcome).toEqual({ status: 'completed' });
  expect(wholeHost.texts).toEqual(['Reading Hello', '2 lines, 3 rows', 'paid', 'No more: enough']);
  const keys = wholeHost.transactions.map(({ step }) => step);
  expect(new Set(keys).size).toBe(keys.length);

  for (let count = 0; count <= wholeHost.transactions.length; count++) {
    const commits = wholeHost.transactions.slice(0, count);
    const storedCount = countStored(wholeHost, commits);
    // Interrupted right after the commit, or after the next event had also become visible.
    for (const visible of [storedCount, storedCount + 1]) {
      const resumedHost = new TestHost(procedure, place.sandbox, {
        answers,
        transactions: commits,
        emittedEvents: wholeHost.events.slice(0, visible),
        now: 5_000_000,
      });
      expect(await drive(resumedHost)).toEqual(outcome);
      expect(resumedHost.events).toEqual(wholeHost.events);
      expect(withoutTimes(resumedHost)).toEqual(withoutTimes(wholeHost));
    }
  }
});

/** The number of events after these steps were committed. */
const countStored = (host: TestHost, commits: readonly JournalTransaction[]): number =>
  Math.max(0, ...commits.flatMap(({ events }) => events).map((event) => host.events.indexOf(event) + 1));

const withoutTimes = (host: TestHost) => host.transactions.filter(({ step }) => !step.endsWith(':until'));

it('does not execute a journalled command again', async () => {
  const text =
    'version: 1\nsteps:\n  - exec: { run: "echo x >> log" }\n  - ask: { id: a, questions: [ { question: Q } ] }\n  - exec: { run: "echo y >> log" }\n';
  const host = new TestHost(text, place.sandbox);
  await drive(host);
  await drive(host);
  host.answers['2-ask'] = { type: 'question', answers: { Q: 'go' } };
  await drive(host);
  await drive(host);
  expect((await place.sandbox.read('log', 100)).bytes.toString()).toBe('x\ny\n');
});
