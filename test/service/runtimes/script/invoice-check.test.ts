import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { HumanAnswer } from '../../../../src/service/runtimes/run-host.ts';
import { scriptRuntime } from '../../../../src/service/runtimes/script/script-runtime.ts';
import { hostLauncher } from '../../../../src/service/sandbox/launch.ts';
import { TestHost, type TestSandbox, testSandbox } from './host.ts';

const folder = path.resolve(import.meta.dirname, '../../../../examples/invoice-check');
const file = (name: string) => readFile(path.join(folder, name), 'utf8');

let place: TestSandbox;
beforeEach(async () => {
  place = await testSandbox();
  await place.sandbox.write('invoices.csv', Buffer.from(await file('invoices.csv')));
});
afterEach(() => place.remove());

interface Answers {
  approvals: Record<string, boolean>;
  answers: Record<string, string | string[]>;
}

function find<T>(table: Record<string, T>, text: string): T {
  const match = Object.entries(table).find(([pattern]) => new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`).test(text));
  if (!match) throw new Error(`no answer for ${text}`);
  return match[1];
}
const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Runs the example like `--answers answers.yaml`, and returns how long it slept. */
async function play(decide: (title: string, answers: Answers) => HumanAnswer) {
  const answers = parse(await file('answers.yaml')) as Answers;
  const host = new TestHost(await file('procedure.yaml'), place.sandbox);
  let sleptMilliseconds = 0;
  for (;;) {
    const outcome = await scriptRuntime.advance(host);
    if (outcome.status === 'sleeping') {
      sleptMilliseconds += outcome.until - host.now;
      host.now = outcome.until;
    } else if (outcome.status === 'waiting') {
      const { request, step } = outcome;
      host.answers[step] =
        request.type === 'approval'
          ? decide(request.title, answers)
          : {
              type: 'question',
              answers: Object.fromEntries((request.questions ?? []).map(({ question }) => [question, find(answers.answers, question)])),
            };
    } else return { host, outcome, sleptMilliseconds };
  }
}
const report = async () => (await place.sandbox.read('report.md', 10_000)).bytes.toString();

it('pays when approved', async () => {
  const { host, outcome, sleptMilliseconds } = await play((title, { approvals }) => ({
    type: 'approval',
    approved: find(approvals, title),
  }));
  expect(outcome).toEqual({ status: 'completed' });
  expect(sleptMilliseconds).toBe(1_000);
  expect(host.texts).toEqual([
    "Good morning! I am Ada. Let me look at today's invoices.",
    '6 invoices, 4065.75 EUR in all. One vendor name is unclear, so I am looking it up.',
    'Paid. Enjoy the chairs! The report is in report.md.',
  ]);
  expect(await report()).toBe(`# Invoices of the day

6 invoices, 4065.75 EUR in all. Paid.

| Vendor | Invoices | EUR |
| --- | ---: | ---: |
| Acme GmbH | 2 | 3429.50 |
| Bakery Sommer | 1 | 86.40 |
| Nordlicht Hosting | 2 | 431.10 |
| Paper & Pen | 1 | 118.75 |

- "ACME" is Acme GmbH.
- The furniture goes to: Product, Operations.
- Note: Chairs and desks for the new office.
`);
});

it('does not pay when denied, and reports why', async () => {
  const { host, outcome } = await play(() => ({ type: 'approval', approved: false, reason: 'wait for Monday' }));
  expect(outcome).toEqual({ status: 'completed' });
  expect(host.texts.at(-1)).toBe('Nothing was paid; everything is ready for when you change your mind. The report is in report.md.');
  expect(await report()).toContain('**Not paid**: wait for Monday.');
  expect(host.events.some((event) => event.kind === 'tool_call' && event.name === 'bank.transfer')).toBe(false);
});

it('reports missing input', async () => {
  await place.sandbox.exec('rm invoices.csv', {
    launcher: hostLauncher,
    timeoutMs: 5_000,
    outputLimit: 100,
    signal: new AbortController().signal,
  });
  const { outcome } = await play(() => ({ type: 'approval', approved: true }));
  expect(outcome).toMatchObject({ status: 'failed', error: expect.stringContaining('invoices.csv is not in the workspace; upload it') });
});
