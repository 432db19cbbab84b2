/**
 * Idempotency keys with every change that the contract has. A new operation is tested by this file as soon as it has a row in the
 * contract.
 */
import { describe, expect, it } from 'vitest';
import { operation } from '../../../src/interface/operations.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../helpers/clock.ts';
import {
  codeOf,
  fillable,
  filledTeam,
  forEachItem,
  namesOf,
  pathOf,
  plainOperations,
  requestFor,
  strangeIds,
} from '../helpers/everything.ts';
import { keyed, keyedInOrder, type Other, refusedInOrder, retired, sendable } from '../helpers/keyed.ts';
import type { Answer, Api } from '../helpers/service.ts';

const untilGenerated = (api: Api, artifactId: string) =>
  eventually('the generation has ended', async () => {
    const { artifact } = await api.ok('getArtifact', { params: { artifactId } });
    return artifact.status !== 'pending' && artifact.status !== 'running';
  });

/** Changes of an artifact that are refused during a generation. */
const needIdleArtifact = ['refreshArtifact', 'restoreArtifactRevision'];

describe('a key', () => {
  it('lets every change execute once, even if it is sent several times simultaneously, and is rejected for any other request', async () => {
    const clock = new ManualClock();
    const api = await fillable({ clock });
    const ownedIds = await filledTeam(api);
    const refusals: typeof refusedInOrder = {};
    for (const id of keyedInOrder.filter((candidate) => !retired.includes(candidate))) {
      const key = `key-of-${id}`;
      // A change before it may have started a generation, which takes some time on Postgres.
      if (needIdleArtifact.includes(id)) await untilGenerated(api, ownedIds.artifactId as string);
      const send = await sendable(api, id, ownedIds);
      const parallelAnswers = await Promise.all([send(key), send(key), send(key)]);
      const executions = parallelAnswers.filter(
        (answer) => answer.headers['idempotency-replayed'] === undefined && codeOf(answer)[1] !== 'idempotency_in_progress',
      );
      expect(executions.length, id).toBe(1);
      const first = executions[0] as Answer;
      expect(first.status, `${id} ${first.text}`).toBeLessThan(500);
      if (first.status >= 400) refusals[id] = codeOf(first)[1] as string;
      // A second execution would have another time or another id, or find nothing any more.
      clock.advance(1_000);
      const second = await send(key);
      const summaryOf = ({ status, text, headers }: Answer) => [status, text, headers['content-type'], headers.location];
      expect(summaryOf(second), id).toEqual(summaryOf(first));
      expect(second.headers, id).toMatchObject({ 'idempotency-replayed': 'true', 'x-original-request-id': first.headers['x-request-id'] });
      const otherRequests: Other[] = [{ more: ' ' }, { search: { other: '1' } }];
      if (requestFor(id, ownedIds).body !== undefined) otherRequests.push({ contentType: 'text/plain' });
      if (namesOf(id).length > 0) otherRequests.push({ ids: strangeIds(id) });
      for (const variation of otherRequests)
        expect(codeOf(await send(key, variation)), `${id} ${JSON.stringify(variation)}`).toEqual([400, 'idempotency_key_reused']);
      expect((await send(key)).text, id).toBe(first.text);
    }
    expect(refusals).toEqual(refusedInOrder);
  });

  it('can be used again to follow a redirect', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    for (const id of retired) {
      const send = await sendable(api, id, ownedIds);
      for (const variation of [undefined, undefined, { more: ' ' }]) {
        const { status, headers } = await send(`key-of-${id}`, variation);
        expect([status, headers['idempotency-replayed']], id).toEqual([308, undefined]);
      }
    }
  });

  it('belongs to one route, and is rejected on every other', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    await (await sendable(api, 'createSandbox', ownedIds))('one');
    await forEachItem(
      keyedInOrder.filter((id) => id !== 'createSandbox'),
      async (id) => expect(codeOf(await (await sendable(api, id, ownedIds))('one')), id).toEqual([400, 'idempotency_key_reused']),
    );
  });
});

describe('a request without a key', () => {
  it('executes each time, because the interface requires no key, and reads ignore it', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    for (const id of keyedInOrder) {
      const send = await sendable(api, id, ownedIds);
      const answers = [await send(undefined), await send(undefined)];
      for (const answer of answers) {
        expect(answer.headers['idempotency-replayed'], id).toBeUndefined();
        expect(answer.status, `${id} ${answer.text}`).toBeLessThan(500);
      }
    }
    for (const id of plainOperations.filter((candidate) => !operation(candidate).idempotent)) {
      const answer = await api.call(id, { ...requestFor(id, ownedIds), headers: { 'idempotency-key': 'two words' } });
      expect(answer.headers['idempotency-replayed'], id).toBeUndefined();
      expect(codeOf(answer)[1], id).not.toBe('invalid_idempotency_key');
    }
  });
});

describe('an invalid key', () => {
  it('is rejected by every change before its body is read', async () => {
    const api = await fillable();
    await forEachItem(keyed, async (id) => {
      for (const key of ['two words', 'x'.repeat(256), ''])
        expect(
          codeOf(await api.send(operation(id).method, pathOf(id, strangeIds(id)), { headers: { 'idempotency-key': key }, body: '{' })),
          id,
        ).toEqual([400, 'invalid_idempotency_key']);
    });
  });
});
