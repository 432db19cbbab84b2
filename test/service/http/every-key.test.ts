/**
 * Idempotency keys with every change that the contract has. A new operation is tested by this file as soon as it has a row in the
 * contract.
 */
import { describe, expect, it } from 'vitest';
import { type OperationId, operation } from '../../../src/interface/operations.ts';
import { ManualClock } from '../helpers/clock.ts';
import {
  codeOf,
  each,
  fillable,
  filled,
  namesOf,
  type Owned,
  pathOf,
  plainOperations,
  requestFor,
  strangeIds,
} from '../helpers/everything.ts';
import type { Answer, Api } from '../helpers/service.ts';

const keyed = plainOperations.filter((id) => operation(id).idempotent);
// What has something to do comes before what takes it away.
const first: OperationId[] = ['respondToHumanRequest', 'unlinkCaseLabels'];
const removes = /^(delete|clear|bulkDelete|revoke|detach|replaceEval)/;
const others = keyed.filter((id) => !first.includes(id) && id !== 'deleteCase');
const order: OperationId[] = [
  ...first,
  ...others.filter((id) => !removes.test(id)),
  'deleteCase',
  ...others.filter((id) => removes.test(id)).reverse(),
];

/** What finds nothing to do here; a refusal is replayed as a success is. */
const refused: Partial<Record<OperationId, string>> = {
  answerArtifactQuestion: 'question_not_pending',
  answerBuilderRun: 'builder_run_not_waiting',
  authorizeMcpOAuth: 'mcp_server_unreachable',
  createAgentCaseTrigger: 'agent_has_case_trigger',
  deleteBackupHold: 'backup_hold_not_found',
  declineRevision: 'builder_run_not_waiting_for_approve',
  discardRevision: 'builder_run_not_active',
  generateRevision: 'builder_run_active',
  promoteRevision: 'builder_run_active',
  startNativeOAuth: 'oauth_provider_not_found',
  updateBackupHold: 'backup_hold_not_found',
};

/** A request that can be sent again as the very same bytes. */
async function sendable(api: Api, id: OperationId, of: Owned): Promise<(key: string | undefined, other?: Other) => Promise<Answer>> {
  const { body, query } = requestFor(id, of);
  const form = body instanceof FormData ? new Response(body) : undefined;
  const type = form?.headers.get('content-type') ?? 'application/json';
  const bytes = form === undefined ? JSON.stringify(body) : Buffer.from(await form.arrayBuffer());
  return (key, { more = '', search = {}, ids = {}, contentType = type } = {}) => {
    const parameters = new URLSearchParams({ ...(query as Record<string, string>), ...search }).toString();
    return api.send(operation(id).method, `${pathOf(id, { ...of, ...ids })}${parameters === '' ? '' : `?${parameters}`}`, {
      headers: {
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(bytes === undefined ? {} : { 'content-type': contentType }),
      },
      ...(bytes === undefined && more === '' ? {} : { body: Buffer.concat([Buffer.from(bytes ?? ''), Buffer.from(more)]) }),
    });
  };
}

/** How a request differs from the one before. */
interface Other {
  more?: string;
  search?: Record<string, string>;
  ids?: Record<string, string>;
  contentType?: string;
}

/** Operations that only say where they have gone. */
const retired: readonly OperationId[] = ['bulkDelegateCases', 'bulkRetryCases'];

describe('a key', () => {
  it('lets every change execute once, even if it is sent several times simultaneously, and is rejected for any other request', async () => {
    const clock = new ManualClock();
    const api = await fillable({ clock });
    const of = await filled(api);
    const refusals: Partial<Record<OperationId, string>> = {};
    for (const id of order.filter((one) => !retired.includes(one))) {
      const key = `key-of-${id}`;
      const send = await sendable(api, id, of);
      const atOnce = await Promise.all([send(key), send(key), send(key)]);
      const executed = atOnce.filter(
        (one) => one.headers['idempotency-replayed'] === undefined && codeOf(one)[1] !== 'idempotency_in_progress',
      );
      expect(executed.length, id).toBe(1);
      const first = executed[0] as Answer;
      expect(first.status, `${id} ${first.text}`).toBeLessThan(500);
      if (first.status >= 400) refusals[id] = codeOf(first)[1] as string;
      // A second execution would have another time or another id, or find nothing any more.
      clock.advance(1_000);
      const second = await send(key);
      const summaryOf = ({ status, text, headers }: Answer) => [status, text, headers['content-type'], headers.location];
      expect(summaryOf(second), id).toEqual(summaryOf(first));
      expect(second.headers, id).toMatchObject({ 'idempotency-replayed': 'true', 'x-original-request-id': first.headers['x-request-id'] });
      const others: Other[] = [{ more: ' ' }, { search: { other: '1' } }];
      if (requestFor(id, of).body !== undefined) others.push({ contentType: 'text/plain' });
      if (namesOf(id).length > 0) others.push({ ids: strangeIds(id) });
      for (const other of others)
        expect(codeOf(await send(key, other)), `${id} ${JSON.stringify(other)}`).toEqual([400, 'idempotency_key_reused']);
      expect((await send(key)).text, id).toBe(first.text);
    }
    expect(refusals).toEqual(refused);
  });

  it('can be used again to follow a redirect', async () => {
    const api = await fillable();
    const of = await filled(api);
    for (const id of retired) {
      const send = await sendable(api, id, of);
      for (const other of [undefined, undefined, { more: ' ' }]) {
        const { status, headers } = await send(`key-of-${id}`, other);
        expect([status, headers['idempotency-replayed']], id).toEqual([308, undefined]);
      }
    }
  });

  it('belongs to one route, and is rejected on every other', async () => {
    const api = await fillable();
    const of = await filled(api);
    await (await sendable(api, 'createSandbox', of))('one');
    await each(
      order.filter((id) => id !== 'createSandbox'),
      async (id) => expect(codeOf(await (await sendable(api, id, of))('one')), id).toEqual([400, 'idempotency_key_reused']),
    );
  });
});

describe('a request without a key', () => {
  it('executes each time, because the interface requires no key, and reads ignore it', async () => {
    const api = await fillable();
    const of = await filled(api);
    for (const id of order) {
      const send = await sendable(api, id, of);
      const answers = [await send(undefined), await send(undefined)];
      for (const answer of answers) {
        expect(answer.headers['idempotency-replayed'], id).toBeUndefined();
        expect(answer.status, `${id} ${answer.text}`).toBeLessThan(500);
      }
    }
    for (const id of plainOperations.filter((one) => !operation(one).idempotent)) {
      const answer = await api.call(id, { ...requestFor(id, of), headers: { 'idempotency-key': 'two words' } });
      expect(answer.headers['idempotency-replayed'], id).toBeUndefined();
      expect(codeOf(answer)[1], id).not.toBe('invalid_idempotency_key');
    }
  });
});

describe('an invalid key', () => {
  it('is rejected by every change before its body is read', async () => {
    const api = await fillable();
    await each(keyed, async (id) => {
      for (const key of ['two words', 'x'.repeat(256), ''])
        expect(
          codeOf(await api.send(operation(id).method, pathOf(id, strangeIds(id)), { headers: { 'idempotency-key': key }, body: '{' })),
          id,
        ).toEqual([400, 'invalid_idempotency_key']);
    });
  });
});
