/** The language of requests: what they show, the questions that they raise, and why they are refused. */
import { describe, expect, it } from 'vitest';
import { emptyPage, type PageSpec } from '../../../src/service/artifacts/page.ts';
import { type Composition, compose, type Request } from '../../../src/service/artifacts/request/compose.ts';
import { titleOf } from '../../../src/service/artifacts/subjects.ts';

const knownData = {
  agents: [
    { id: 'a1', name: 'invoice-check' },
    { id: 'a2', name: 'Web Shop' },
  ],
  queues: [
    { id: 'q1', name: 'Invoices' },
    { id: 'q2', name: 'Refunds' },
  ],
};

const ask = (message: string, page: PageSpec = emptyPage, overrides: Partial<Request> = {}): Composition =>
  compose({ message, page, answers: {}, selected: undefined, names: knownData, ...overrides });

function composePage(message: string, page?: PageSpec, overrides?: Partial<Request>): PageSpec {
  const composition = ask(message, page, overrides);
  if (composition.status !== 'composed') throw new Error(`${message}: ${JSON.stringify(composition)}`);
  return composition.page;
}

/** `Runs by status (bars)` for each block. */
const blocksOf = ({ blocks }: PageSpec): string[] =>
  blocks.map((block) => (block.kind === 'text' ? `text: ${block.text}` : `${titleOf(block)} (${block.form})`));

describe('a request', () => {
  it.each([
    ['runs', ['Runs (table)']],
    ['Runs of the last 7 days by status', ['Runs in the last 7 days by status (bars)']],
    ['please show me a table of the failed runs of today', ['Failed runs today (table)']],
    ['bar chart of runs per agent', ['Runs by agent (bars)']],
    ['line chart of runs by day in the last two weeks', ['Runs in the last 2 weeks by day (line)']],
    ['how many runs failed yesterday?', ['Number of failed runs yesterday (number)']],
    ['number of completed or failed runs this month', ['Number of completed or failed runs this month (number)']],
    ['runs of agent "Web Shop" since 2026-07-01', ['Runs of agent "Web Shop" since 2026-07-01 (table)']],
    ['runs of agent INVOICE-CHECK by hour', ['Runs of agent "invoice-check" by hour (bars)']],
    ['open human requests', ['Open human requests (table)']],
    ['pending approvals by agent', ['Pending approvals by agent (bars)']],
    ['questions of today', ['Questions today (table)']],
    ['webhook deliveries by event', ['Webhook deliveries by event (bars)']],
    ['cases of queue "Invoices" by status', ['Cases in queue "Invoices" by status (bars)']],
    ['open cases by queue', ['Open cases by queue (bars)']],
    ['usage', ['Plan usage (bars)']],
    ['list of agents', ['Agents (table)']],
    ['weekly runs over the last 3 months', ['Runs in the last 3 months by week (bars)']],
    ['runs by status, usage and agents', ['Runs by status (bars)', 'Plan usage (bars)', 'Agents (table)']],
    ['failed runs by day and by agent', ['Failed runs by day (bars)', 'Failed runs by agent (bars)']],
    ['add a note: "Figures of our own, and more"; then runs', ['text: Figures of our own, and more', 'Runs (table)']],
    ['- runs by status\n- usage', ['Runs by status (bars)', 'Plan usage (bars)']],
    ['text "Dear all,\n\nthese are the runs."\r\n- usage', ['text: Dear all,\n\nthese are the runs.', 'Plan usage (bars)']],
    ["text 'tis so\nusage; text 'tis not", ["text: 'tis so", 'Plan usage (bars)', "text: 'tis not"]],
    ['text "<b>runs by status</b>"', ['text: <b>runs by status</b>']],
  ])('%s', (message, blocks) => {
    expect(blocksOf(composePage(message))).toEqual(blocks);
  });

  it('gives the page a title; without one, the page has the title of its first figures', () => {
    expect(composePage('title Weekly report; runs')).toMatchObject({ title: 'Weekly report', titled: true });
    expect(composePage('title "Runs and usage" and runs')).toMatchObject({ title: 'Runs and usage' });
    expect(composePage('call it Q3: what happened')).toMatchObject({ title: 'Q3: what happened' });
    expect(composePage('text hello; runs by status')).toMatchObject({ title: 'Runs by status', titled: false });
    expect(ask(`title ${'x'.repeat(121)}`)).toMatchObject({ status: 'failed', error: 'A title must have 1 to 120 characters.' });
  });

  it('makes the same page from the same words', () => {
    const message = 'title T; runs by status; usage';
    expect(ask(message)).toEqual(ask(message));
  });

  it.each([
    ['runs by colour', /The word "colour" cannot be used here/, /The generator of the local service understands/],
    ['make me a sandwich', /"sandwich"/, /bar chart of/],
    ['', /does not request anything/, /understands/],
    ['thanks!', /does not request anything/, /understands/],
    ['usage by day', /Usage covers the whole plan/, /./],
    ['agents by status', /Agents cannot be counted by status; they can be counted by day, week, month/, /./],
    ['answered runs', /Runs cannot be "answered"; they can be pending/, /./],
    ['failed agents', /Agents have no status, so they cannot be "failed"/, /./],
    ['agents of agent "x"', /Agents do not belong to an agent/, /./],
    ['runs of queue "x"', /Runs are not in a queue/, /./],
    ['runs since 2026-02-31', /"since", "2026-02-31"/, /since 2026-07-01/],
    ['runs since 2026-13-01', /"since", "2026-13-01"/, /since 2026-07-01/],
    ['remove the chart', /The page is still empty/, /./],
    [Array.from({ length: 31 }, () => 'runs').join('; '), /at most 30 parts/, /./],
    [Array.from({ length: 61 }, () => 'runs').join('; '), /at most 60 are allowed/, /./],
  ])('is refused with a reason: %s', (message, reason, help) => {
    const composition = ask(message);
    expect(composition).toMatchObject({ status: 'failed', error: expect.stringMatching(reason) });
    expect(composition).toMatchObject({ error: expect.stringMatching(help) });
  });

  it('is carried out as a whole or not at all', () => {
    expect(ask('title New; runs; runs by colour')).toMatchObject({ status: 'failed' });
  });
});

describe('a request that leaves something open', () => {
  const questionOf = (composition: Composition) => {
    if (composition.status !== 'asking') throw new Error(JSON.stringify(composition));
    return composition.questions[0] as NonNullable<(typeof composition.questions)[0]>;
  };
  const labels = (composition: Composition): string[] => (questionOf(composition).options ?? []).map(({ label }) => label);
  const answerPage = (message: string, answer: string, page?: PageSpec): PageSpec =>
    composePage(message, page, { answers: { [questionOf(ask(message, page)).question]: answer } });

  it('raises the question what to count by', () => {
    expect(questionOf(ask('chart of runs')).question).toBe('"chart of runs": what should a bar chart of runs count by?');
    expect(labels(ask('chart of runs'))).toEqual(['status', 'agent', 'source', 'hour', 'day', 'week', 'month']);
    expect(blocksOf(answerPage('chart of runs', 'agent'))).toEqual(['Runs by agent (bars)']);
    expect(labels(ask('line chart of runs by agent'))).toEqual(['hour', 'day', 'week', 'month']);
  });

  it('raises the question which agent is meant, with the likely one first', () => {
    expect(labels(ask('runs of agent "web shp"'))).toEqual(['Web Shop', 'invoice-check']);
    expect(blocksOf(answerPage('runs of agent "web shp"', 'Web Shop'))).toEqual(['Runs of agent "Web Shop" (table)']);
    expect(ask('runs of agent "x"', emptyPage, { names: { agents: [], queues: [] } })).toMatchObject({ status: 'failed' });
  });

  it('raises the question of which queue, unless there is only one', () => {
    expect(labels(ask('cases by priority'))).toEqual(['All queues', 'Invoices', 'Refunds']);
    expect(blocksOf(answerPage('cases by priority', 'Refunds'))).toEqual(['Cases in queue "Refunds" by priority (bars)']);
    expect(blocksOf(answerPage('cases by priority', 'All queues'))).toEqual(['Cases by priority (bars)']);
    expect(blocksOf(composePage('cases', emptyPage, { names: { agents: [], queues: knownData.queues.slice(0, 1) } }))).toEqual([
      'Cases (table)',
    ]);
  });

  it('raises the question what to show instead of a pie chart', () => {
    expect(labels(ask('pie chart of runs by status'))).toEqual(['Bar chart', 'Table']);
    expect(blocksOf(answerPage('pie chart of runs by status', 'Table'))).toEqual(['Runs by status (table)']);
  });

  it('raises the question which part is meant, one question at a time', () => {
    const page = composePage('runs by status; human requests by type; usage');
    expect(labels(ask('remove the chart', page))).toEqual(['1. Runs by status', '2. Human requests by type', '3. Plan usage']);
    expect(blocksOf(answerPage('remove the chart', '2. Human requests by type', page))).toEqual([
      'Runs by status (bars)',
      'Plan usage (bars)',
    ]);
    expect(labels(ask('chart of runs; chart of deliveries'))).toHaveLength(7);
  });
});

describe('a request that changes a page', () => {
  const page = composePage('title Report; runs by status; human requests; text "Read me"; usage');

  it.each([
    ['remove 1', ['Human requests (table)', 'text: Read me', 'Plan usage (bars)']],
    ['delete the table', ['Runs by status (bars)', 'text: Read me', 'Plan usage (bars)']],
    ['remove the usage chart', ['Runs by status (bars)', 'Human requests (table)', 'text: Read me']],
    ['remove the text', ['Runs by status (bars)', 'Human requests (table)', 'Plan usage (bars)']],
    ['remove the last', ['Runs by status (bars)', 'Human requests (table)', 'text: Read me']],
    ['move the text to the top', ['text: Read me', 'Runs by status (bars)', 'Human requests (table)', 'Plan usage (bars)']],
    ['move 1 down', ['Human requests (table)', 'Runs by status (bars)', 'text: Read me', 'Plan usage (bars)']],
    ['move 1 up', ['Runs by status (bars)', 'Human requests (table)', 'text: Read me', 'Plan usage (bars)']],
    ['move usage to the top', ['Plan usage (bars)', 'Runs by status (bars)', 'Human requests (table)', 'text: Read me']],
    ['turn the first into a table', ['Runs by status (table)', 'Human requests (table)', 'text: Read me', 'Plan usage (bars)']],
    ['make the runs chart a list', ['Runs (table)', 'Human requests (table)', 'text: Read me', 'Plan usage (bars)']],
    ['show 2 by type', ['Runs by status (bars)', 'Human requests by type (bars)', 'text: Read me', 'Plan usage (bars)']],
    [
      'show 1 of the last 7 days',
      ['Runs in the last 7 days by status (bars)', 'Human requests (table)', 'text: Read me', 'Plan usage (bars)'],
    ],
    ['start over; runs', ['Runs (table)']],
  ])('%s', (message, blocks) => {
    expect(blocksOf(composePage(message, page))).toEqual(blocks);
  });

  it('changes the only figures on the page', () => {
    const singlePage = composePage('runs by status; text hello');
    expect(blocksOf(composePage('as a table', singlePage))).toEqual(['Runs by status (table)', 'text: hello']);
    expect(blocksOf(composePage('only failed ones of today', composePage('runs')))).toEqual(['Failed runs today (table)']);
    expect(blocksOf(composePage('human requests instead', composePage('runs of today by status')))).toEqual(['Human requests (table)']);
    expect(blocksOf(composePage('make it a number', singlePage))).toEqual(['Number of runs (number)', 'text: hello']);
  });

  it('refers to the selected element', () => {
    const element = (selector: string, outer: string) => ({ selector, label: 'x', tag_name: 'section', outer_html: outer });
    const second = { selected: element('#part-2 > h2', '<h2>Human requests</h2>') };
    expect(blocksOf(composePage('remove this', page, second))).not.toContain('Human requests (table)');
    expect(blocksOf(composePage('by type', page, second))).toContain('Human requests by type (bars)');
    const selection = { selected: element('section:nth-child(1)', '<section id="part-1" aria-labelledby="part-1-title">') };
    expect(blocksOf(composePage('make it a table', page, selection))[0]).toBe('Runs by status (table)');
  });

  it('keeps the IDs of the parts that stay and does not reuse IDs', () => {
    const changedPage = composePage('remove 1; agents', page);
    expect(changedPage.blocks.map(({ id }) => id)).toEqual(['part-2', 'part-3', 'part-4', 'part-5']);
  });

  it('explains what is impossible', () => {
    expect(ask('remove 9', page)).toMatchObject({ error: 'The page has 4 parts; there is no number 9.' });
    expect(ask('remove the picture', page)).toMatchObject({ error: expect.stringContaining('Its parts are: 1. Runs by status; 2.') });
    expect(ask('make 3 a table', page)).toMatchObject({ error: expect.stringContaining('refers to a text') });
  });
});
