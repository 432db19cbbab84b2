#!/usr/bin/env node
// A queue of invoices from start to finish: an agent pays them, the large ones after a person has approved, a webhook reports them,
// rubrics judge them, and a page shows them. On a terminal you approve; elsewhere answers.yaml does. Only the page is left behind, in
// the folder that you name or in the current one.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { demonstrate, neighbour, someoneIsHere } from '../support.js';

const file = (name) => neighbour(import.meta.url, name);
const page = path.join(process.argv[2] ?? '.', 'invoice-queue.html');
const chapter = (title) => console.error(`\n── ${title}`);

/** The invoices of the day as objects, with the names in the first row as keys. */
async function invoices() {
  const [names, ...rows] = (await readFile(new URL('invoices.csv', import.meta.url), 'utf8')).trim().split('\n');
  return rows.map((row) => {
    const cells = row.split(',');
    const invoice = Object.fromEntries(names.split(',').map((name, index) => [name, cells[index]]));
    return { ...invoice, amount: Number(invoice.amount) };
  });
}

await demonstrate(async ({ must, into, begin, read, until, home }) => {
  const temporary = (name) => path.join(home, name);
  const list = async (...args) => JSON.parse(await read(...args, '--json')).data;
  const cases = (...statuses) => list('cases', 'list', 'invoices', ...statuses.flatMap((status) => ['--status', status]));
  const worked = () => until('end of the work', async () => (await cases('pending', 'claimed')).length === 0);

  chapter('An agent, its rubrics, and the schedule that adds up the day');
  await must('local', 'up', '--ephemeral', '--exec', 'host');
  await must('agents', 'create', 'payer', '--procedure', file('procedure.yaml'), '-o', 'id');
  await must('agents', 'rubrics', 'replace', 'payer', '--from', file('rubrics.yaml'), '--yes');
  const evening = ['--frequency', 'workday', '--time', '17:30', '--timezone', 'Europe/Berlin'];
  await must('agents', 'schedules', 'create', 'payer', ...evening, '--task', 'How much was it?', '-o', 'id');
  await must('agents', 'schedules', 'next', 'payer', '--count', '3');

  chapter('A receiver of events about completed invoices');
  const log = temporary('deliveries.ndjson');
  const listener = begin(log, 'webhooks', 'listen', '--subscribe', '--event', 'queue.case.completed', '--json');
  const received = async () => (await readFile(log, 'utf8')).match(/.+\n/g)?.map((line) => JSON.parse(line)) ?? [];
  await until('listener', async () => (await received()).length > 0);

  chapter('A queue, and the agent that works through it');
  await must('queues', 'create', 'invoices', '-o', 'id');
  await must('agents', 'triggers', 'create', 'payer', '--queue', 'invoices', '-o', 'id');
  for (const invoice of await invoices()) {
    const title = `${invoice.amount} EUR to ${invoice.vendor}`;
    await must('cases', 'create', 'invoices', title, '--data', JSON.stringify(invoice), '-o', 'id');
  }
  await worked();

  chapter('The large ones need a person');
  const asking = await list('inbox');
  await must('inbox');
  if (!someoneIsHere) for (const { run_id } of asking) await must('runs', 'watch', run_id, '--answers', file('answers.yaml'));
  await worked();

  chapter('The outcome of each invoice');
  await must('cases', 'list', 'invoices');
  for (const { id } of await cases('failed')) await must('cases', 'get', id);

  chapter('The evening, early: what the schedule starts at 17:30');
  await must('runs', 'start', '--agent', 'payer', '--message', 'How much was it?', '--watch');

  chapter('A run, judged by the rubrics of its agent');
  const paid = await cases('completed');
  await must('runs', 'evaluation', paid[0].claimed_by_run_id, '--wait', '--fail-on', 'medium');

  chapter('The deliveries of the webhook, and one verified as its receiver would');
  const deliveries = async () => (await received()).filter(({ type }) => type === 'delivery');
  await until('delivery of each', async () => (await deliveries()).length >= paid.length);
  await must('webhooks', 'deliveries');
  const [delivery] = await deliveries();
  await writeFile(temporary('body.json'), delivery.body);
  await into(temporary('secret.txt'), 'webhooks', 'secret', 'show', '--reveal', '--jq', '.secret');
  const headers = Object.entries(delivery.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  await must('webhooks', 'verify', ...headers, '--body', temporary('body.json'), '--secret', `@${temporary('secret.txt')}`);
  await listener.stop();

  chapter('A page to share');
  await must('artifacts', 'create', `@${file('page.txt')}`, '--watch');
  await must('artifacts', 'export', '@latest', '--html', page, '--force');
});
