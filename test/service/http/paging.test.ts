/** The extremes of `limit` and `offset`, for every list of the contract that has them. */
import { describe, expect, it } from 'vitest';
import { type OperationId, operationIds } from '../../../src/interface/operations.ts';
import { schemasOf } from '../../../src/interface/schemas.ts';
import { type Api, startApi } from '../helpers/service.ts';

const pagedOperations = operationIds.filter((id) => 'offset' in (schemasOf(id).query?.properties ?? {}));

/** The object that a path refers to, for lists of its parts. */
async function paramsFor(api: Api, id: OperationId): Promise<Record<string, string>> {
  if (id === 'listRunMessages' || id === 'listRunHumanRequests') return { run_id: (await api.run('done')).id };
  if (id === 'listAgentRevisions') return { agent_id: await api.agent('done', 'Paged') };
  if (id === 'listCases' || id === 'listQueueLabels')
    return { queue_id: (await api.ok('createQueue', { body: { name: 'Paged' } })).queue.id };
  if (id === 'listCaseLabels') {
    const queue_id = (await api.ok('createQueue', { body: { name: 'Paged' } })).queue.id;
    const { added_cases } = await api.ok('createCases', { params: { queue_id }, body: { case: { title: 'Paged' } } });
    return { queue_id, case_id: added_cases[0]?.id as string };
  }
  return {};
}

describe.each(pagedOperations)('%s', (id) => {
  it('rejects invalid pages, and has empty ones beyond its end', async () => {
    const api = await startApi();
    const params = await paramsFor(api, id);
    const { limit } = (schemasOf(id).query?.properties ?? {}) as { limit: { maximum: number } };
    const extremes: Record<string, string | number>[] = [
      { limit: 0 },
      { limit: -1 },
      { limit: limit.maximum + 1 },
      { limit: 'NaN' },
      { limit: '1e1' },
      { limit: '1.5' },
      { limit: '' },
      { limit: '9007199254740993' },
      { offset: -1 },
      { offset: 'Infinity' },
      { offset: '0x10' },
      { offset: '99999999999999999999' },
    ];
    for (const query of extremes) {
      const answer = await api.call(id, { params, query });
      expect([answer.status, (answer.body as { error?: string }).error], JSON.stringify(query)).toEqual([400, 'invalid_request']);
    }
    const emptyPage = await api.call(id, { params, query: { limit: limit.maximum, offset: Number.MAX_SAFE_INTEGER } });
    // Without the object that the path refers to, there is no list to page through.
    if (emptyPage.status !== 404) expect(Object.values(emptyPage.body as object).find(Array.isArray)).toEqual([]);
  });
});

it('has stable and complete pages, even for rows of the same instant', async () => {
  const api = await startApi();
  for (let count = 0; count < 5; count++) await api.ok('createAgent', { body: { name: `A${count}` } });
  const ids: string[] = [];
  for (let offset = 0; offset < 6; offset += 2) {
    const { agents } = await api.ok('listAgents', { query: { limit: 2, offset } });
    ids.push(...agents.map((agent) => agent.id));
  }
  expect(ids).toHaveLength(5);
  expect(new Set(ids).size).toBe(5);
});
