/**
 * Teams are isolated from each other. Every operation of the contract is called by a team with the IDs of another one, in its path
 * and in its body: nothing is found, revealed, or changed.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type OperationId, operation, operationGroups, operationIds } from '../../../src/interface/operations.ts';
import { inputFor, namesOf, type OwnedIds, fillable as service, withEverything } from '../helpers/everything.ts';
import type { Answer, Api, CallInput } from '../helpers/service.ts';

/** Only the owner of the data directory may use these, for all teams (local.test.ts). */
const administration = Object.keys(operationGroups.local);
const targetedOperations = operationIds.filter((id) => namesOf(id).length > 0 && !administration.includes(id));

/** Everything that the team can read. */
async function readEverything(api: Api, ownedIds: OwnedIds): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const id of targetedOperations) {
    // A PDF needs a browser, and is different each time.
    if (operation(id).method !== 'GET' || operation(id).produces === 'application/pdf') continue;
    // No run works on the case or on a repository, and the server whose tools are requested does not exist.
    if (id === 'listCaseRunRecentMessages' || id === 'getRunChanges' || id === 'listConnectionTools' || id === 'streamRunsEvents') continue;
    const answer = await api.call(id, inputFor(id, ownedIds));
    expect(answer.status, `${id} ${answer.text}`).toBe(200);
    answers[id] = answer.text;
  }
  return answers;
}

/** Resolves when the background work is done: the builder run has its proposal, and each delivery its first attempt. */
async function untilSettled(api: Api, ownedIds: OwnedIds): Promise<void> {
  for (;;) {
    const run = await api.ok('getBuilderRunStatus', { params: { builder_run_id: ownedIds.builder_run_id as string } });
    const { deliveries } = await api.ok('listWebhookDeliveries');
    if (run.status !== 'running' && deliveries.every(({ attempt_count }) => attempt_count > 0)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function expectNothing(answer: Answer, ownedIds: OwnedIds, label: string): void {
  expect([answer.status, (answer.body as { error: string }).error], label).toEqual([404, expect.stringMatching(/_not_found$/)]);
  // The word is also the name of a kind of thing.
  expect(answer.text.replace('secret_not_found', '').replace('There is no secret ', '')).not.toContain('secret');
  // Whatever the caller did not name is not revealed, either.
  for (const id of Object.values(ownedIds)) if (!label.includes(id)) expect(answer.text, label).not.toContain(id);
}

describe('a team', () => {
  it('neither finds nor changes anything of another team, whatever it requests', async () => {
    const owner = await service();
    const a = await owner.withToken();
    const b = await owner.inNewTeam();
    const [ownedIds, ownIds] = [await withEverything(a), await withEverything(b)];
    await untilSettled(a, ownedIds);
    const before = await readEverything(a, ownedIds);
    expect(JSON.stringify(before)).toContain('secret');
    for (const id of targetedOperations) {
      const input = inputFor(id, ownedIds);
      const label = `${id} ${JSON.stringify(input.params)}${JSON.stringify(input.body ?? '')}`;
      expectNothing(await b.call(id, input), ownedIds, label);
      // Under its own team, or with one ID of its own in addition to those of the other team.
      for (const name of namesOf(id)) {
        if (namesOf(id).length === 1) continue;
        const mixedInput = { ...input, params: { ...input.params, [name]: ownIds[name] as string } };
        expectNothing(
          await b.call(id, mixedInput),
          ownedIds,
          `${id} ${JSON.stringify(mixedInput.params)}${JSON.stringify(input.body ?? '')}`,
        );
      }
    }
    expect(await readEverything(a, ownedIds)).toEqual(before);
  });

  it('cannot refer to objects of another team in a body or a query', async () => {
    const owner = await service();
    const a = await owner.withToken();
    const b = await owner.inNewTeam();
    const [ownedIds, ownIds] = [await withEverything(a), await withEverything(b)];
    const refusedCalls: [OperationId, CallInput][] = [
      ['startRun', { body: { agent_id: ownedIds.agent_id } }],
      ['startRun', { body: { agent_id: ownIds.agent_id, sandbox_id: ownedIds.sandbox_id } }],
      ['createAgent', { body: { name: 'mine', source_build_id: ownedIds.build_id } }],
      ['createRevision', { params: { agent_id: ownIds.agent_id as string }, body: { name: 'mine', source_build_id: ownedIds.build_id } }],
      ['acceptRevision', { params: { build_id: ownIds.build_id as string }, body: { builder_run_id: ownedIds.builder_run_id } }],
    ];
    for (const [id, input] of refusedCalls) {
      const answer = await b.call(id, input);
      expect([404, 409], `${id} ${answer.text}`).toContain(answer.status);
      expect(answer.text).not.toContain('secret');
    }
    for (const query of [{ agent_id: ownedIds.agent_id as string }, { search: 'secret' }]) {
      const { data } = await b.ok('listRuns', { query });
      expect(data.map((run) => run.id)).not.toContain(ownedIds.run_id);
    }
    for (const query of [{ run_id: ownedIds.run_id as string }, { subscription_id: ownedIds.subscriptionId as string }])
      expect((await b.ok('listWebhookDeliveries', { query })).deliveries).toEqual([]);
  });

  it('has its own lists, usage, and secrets', async () => {
    const owner = await service();
    const a = await owner.withToken();
    const b = await owner.inNewTeam();
    const ownedIds = await withEverything(a);
    for (const id of operationIds) {
      if (operation(id).method !== 'GET' || administration.includes(id) || namesOf(id).some((name) => name !== 'teamId')) continue;
      const answer = await b.call(id);
      expect(answer.text).not.toContain('secret agent');
      for (const otherId of Object.values(ownedIds)) expect(answer.text, id).not.toContain(otherId);
    }
    expect((await b.ok('getTeamUsage')).agentRuns.used).toBe(0);
    expect((await b.call('getTeamWebhookSecret')).text).not.toBe((await a.call('getTeamWebhookSecret')).text);
    // Names are free, numbers start from one, and the same idempotency key is a different one.
    const headers = { 'idempotency-key': 'same' };
    const ownAnswer = await b.call('createAgent', { body: { name: 'secret agent' }, headers });
    expect(ownAnswer.status).toBe(201);
    expect((await a.call('createAgent', { body: { name: 'secret agent' }, headers })).status).toBe(409);
    expect((await b.call('getAgent', { params: { agent_id: randomUUID() } })).status).toBe(404);
  });
});
