/** Lists of large rows: a page is bounded in bytes, and the next one starts where it ended. */
import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { config, startApi } from '../helpers/service.ts';

const kilobyte = 1_024;
/** The most bytes that a page can have, including those around its rows. */
const maxBytes = 1_100 * kilobyte;
const largeText = (kilobytes: number, letter = 'x'): string => letter.repeat(kilobytes * kilobyte);

/** All rows of a list, read page by page, and the sizes of the pages. */
async function walk<Row>(readPage: (offset: number) => Promise<{ rows: Row[]; total: number; bytes: number }>, total: number) {
  const allRows: Row[] = [];
  const pages: number[] = [];
  while (allRows.length < total) {
    const page = await readPage(allRows.length);
    expect(page.total).toBe(total);
    expect(page.rows.length).toBeGreaterThan(0);
    allRows.push(...page.rows);
    pages.push(page.bytes);
  }
  return { all: allRows, pages };
}

/** A run that has sent texts of these sizes in kilobytes, and then waits for a person. */
async function runTalk(api: Awaited<ReturnType<typeof startApi>>) {
  const run = await api.run('talks');
  await eventually('the run waits', async () => (await api.ok('getRun', { params: { run_id: run.id } })).run.status === 'waiting');
  return run;
}

const sizes = [10, 500, 500, 10, 2_000, 10, 10, 900];
const startTalking = () =>
  startApi({
    behaviours: {
      talks: async (host) => {
        await host.emit(sizes.map((size, index) => ({ kind: 'text', id: `t${index}`, text: largeText(size, String(index)) })));
        return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Go on?', description: largeText(700) } };
      },
    },
  });

describe('a page of large rows', () => {
  it('of messages ends early, and the next one starts where it ended', async () => {
    const api = await startTalking();
    const { id: run_id } = await runTalk(api);
    const { all, pages } = await walk(async (offset) => {
      const answer = await api.call('listRunMessages', { params: { run_id }, query: { limit: 50, offset } });
      expect(answer.body).toMatchObject({ limit: 50, offset });
      return { rows: answer.body.messages, total: answer.body.total, bytes: answer.text.length };
    }, sizes.length);
    expect(all.map(({ text_content }) => text_content?.length)).toEqual(sizes.map((size) => size * kilobyte));
    // A message that is larger than that has a page of its own.
    expect(pages.filter((bytes) => bytes > maxBytes)).toHaveLength(1);
    expect(pages.length).toBeLessThan(sizes.length);
  });

  it('of the latest messages is shortened at its beginning', async () => {
    const api = await startTalking();
    const { id: runId, agent_id: agentId } = await runTalk(api);
    const detail = await api.ok('getRunDetail', { params: { agentId: agentId as string, runId } });
    expect(detail.conversation.map(({ text_content }) => (text_content as string)[0])).toEqual(['5', '6', '7']);
    expect(detail.conversationPagination).toEqual({ total: sizes.length, included: 3, hasMore: true });
  });

  it('of runs ends early if their human requests are large', async () => {
    const api = await startTalking();
    for (let count = 0; count < 3; count++) await runTalk(api);
    const { all, pages } = await walk(async (offset) => {
      const { body, text } = await api.call('listRuns', { query: { limit: 20, offset } });
      return { rows: body.data, total: body.total, bytes: text.length };
    }, 3);
    expect(new Set(all.map(({ id }) => id)).size).toBe(3);
    expect(Math.max(...pages)).toBeLessThan(maxBytes);
    const partly = await api.ok('listRuns', { query: { limit: 2, include_total: 'false' } });
    expect([partly.data.length, partly.total > partly.data.length]).toEqual([1, true]);
  });

  it('of cases, revisions, and agents ends early as well', async () => {
    const api = await startApi();
    const { queue } = await api.ok('createQueue', { body: { name: 'Large' } });
    const params = { queue_id: queue.id };
    const createdIds: string[] = [];
    for (let count = 0; count < 3; count++) {
      const { added_cases } = await api.ok('createCases', { params, body: { case: { title: `Case ${count}`, data: largeText(700) } } });
      createdIds.push(added_cases[0]?.id as string);
    }
    const cases = await walk(async (offset) => {
      const { body, text } = await api.call('listCases', { params, query: { offset } });
      return { rows: body.cases, total: body.total, bytes: text.length };
    }, 3);
    expect(cases.all.map(({ id }) => id)).toEqual(createdIds.reverse());
    expect(Math.max(...cases.pages)).toBeLessThan(maxBytes);

    const procedure = `done${' '.repeat(700 * kilobyte)}`;
    for (let count = 0; count < 3; count++) {
      const { agent } = await api.ok('createAgent', {
        body: { name: `Large ${count}`, build: { name: 'first', config: config(procedure) } },
      });
      await api.ok('createRevision', { params: { agent_id: agent.id }, body: { name: 'second', config: config(procedure) } });
      const builds = await walk(async (offset) => {
        const { body, text } = await api.call('listAgentRevisions', { params: { agent_id: agent.id }, query: { offset } });
        return { rows: body.builds, total: body.total, bytes: text.length };
      }, 2);
      expect(builds.all.map(({ revision_number }) => revision_number)).toEqual([2, 1]);
      expect(Math.max(...builds.pages)).toBeLessThan(maxBytes);
    }
    const agents = await walk(async (offset) => {
      const { body, text } = await api.call('listAgents', { query: { offset } });
      return { rows: body.agents, total: body.total, bytes: text.length };
    }, 3);
    expect(new Set(agents.all.map(({ id }) => id)).size).toBe(3);
    expect(Math.max(...agents.pages)).toBeLessThan(maxBytes);
  });
});
