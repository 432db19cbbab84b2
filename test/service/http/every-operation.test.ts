/**
 * Every operation of the contract, with everything that can be wrong with a request: its caller, its frequency, its target, and its
 * body. A new operation is tested by this file as soon as it has a row in the contract.
 */
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { type OperationId, operation, operationIds } from '../../../src/interface/operations.ts';
import { schemasOf } from '../../../src/interface/schemas.ts';
import { jsonLimit } from '../../../src/service/http/body.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { ManualClock } from '../helpers/clock.ts';
import {
  codeOf,
  fillable,
  filledTeam,
  forEachItem,
  json,
  namesOf,
  pathOf,
  plainOperations,
  requestFor,
  sendBody,
  strangeIds,
} from '../helpers/everything.ts';
import { fullBody, hostileBodies } from '../helpers/hostile.ts';

const withJson = plainOperations.filter((id) => schemasOf(id).body !== undefined && operation(id).request === undefined);

describe('a refusal', () => {
  it('has the common shape and headers for every operation: 401, 404, 405, 429', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    await forEachItem(operationIds, async (id) => {
      const { method } = operation(id);
      const path = pathOf(id, { ...ownedIds, ...strangeIds(id) });
      const anonymousAnswer = await api.send(method, path, { anonymous: true });
      expect(codeOf(anonymousAnswer), id).toEqual([401, 'invalid_token']);
      expect(anonymousAnswer.headers['www-authenticate'], id).toMatch(
        id.endsWith('Mcp') ? /^Bearer resource_metadata="http[^"]+"$/ : /^Bearer$/,
      );
      const traceAnswer = await api.send('TRACE', pathOf(id, ownedIds));
      expect(codeOf(traceAnswer), id).toEqual([405, 'method_not_allowed']);
      expect(String(traceAnswer.headers.allow).split(', '), id).toContain(method);
    });
    const targetedOperations = plainOperations.filter((id) => namesOf(id).length > 0);
    await forEachItem(targetedOperations, async (id) => {
      const request = requestFor(id, ownedIds);
      const answer = await api.call(id, { ...request, params: { ...request.params, ...strangeIds(id) } });
      expect(answer.status, `${id} ${answer.text}`).toBe(404);
      expect(codeOf(answer)[1], id).toMatch(/_not_found$/);
    });
  });

  it('above the rate limit says when to retry, and nothing is done', async () => {
    const clock = new ManualClock();
    const api = await fillable({ clock, rateLimit: { limit: 1, windowSeconds: 60 } });
    await api.send('GET', '/v2/nowhere');
    await forEachItem(operationIds, async (id) => {
      const answer = await api.send(operation(id).method, pathOf(id, strangeIds(id)), { headers: { 'idempotency-key': 'k' } });
      expect(codeOf(answer), id).toEqual([429, 'rate_limited']);
      expect(Number(answer.headers['retry-after']), id).toBeGreaterThanOrEqual(1);
      expect(answer.headers['ratelimit-remaining'], id).toBe('0');
    });
  });

  itNeeding(needsSqlite, 'by a broken service reveals nothing, is logged, and is not stored under a key', async () => {
    const intact = await fillable();
    const ownedIds = await filledTeam(intact);
    await intact.service.close();
    breakTables(intact.dataDirectory);
    const log: string[] = [];
    const api = await fillable({ dataDirectory: intact.dataDirectory, log: (entry) => log.push(JSON.stringify(entry)) });
    const failedOperations: OperationId[] = [];
    await forEachItem(plainOperations, async (id) => {
      const request = { ...requestFor(id, ownedIds), headers: { 'idempotency-key': `of-${id}` } };
      const [first, second] = [await api.call(id, request), await api.call(id, request)];
      expect(first.text, id).not.toMatch(/no such table|sqlite|select /i);
      if (first.status < 500) return;
      failedOperations.push(id);
      expect(codeOf(first), id).toEqual([500, 'internal_error']);
      expect(codeOf(second), id).toEqual([500, 'internal_error']);
      expect(second.headers['idempotency-replayed'], id).toBeUndefined();
      expect(
        log.some((line) => line.includes(String(first.headers['x-request-id'])) && line.includes('no such table')),
        id,
      ).toBe(true);
    });
    // All operations except those that do not need what was removed.
    expect(failedOperations.length).toBeGreaterThan(plainOperations.length * 0.8);
    expect((await api.send('GET', '/healthz')).status).toBe(200);
  });
});

/** Removes what the service needs to answer requests, but not what it needs to start. */
function breakTables(directory: string): void {
  const file = new Libsql(`${directory}/aops.db`);
  const excludedTables = ['teams', 'credentials', 'tokens', 'settings', 'jobs', 'plans', 'idempotency_keys'];
  const tables = file.prepare("select name from sqlite_master where type = 'table'").all() as { name: string }[];
  file.pragma('foreign_keys=OFF');
  for (const { name } of tables)
    if (!excludedTables.includes(name) && !/migration|sqlite|run_search/.test(name))
      file.exec(`alter table "${name}" rename to "gone_${name}"`);
  file.close();
}

describe('the body of every operation that has one', () => {
  it('is refused if it is not JSON of the right kind, or too large', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    const texts = ['{', '"', '{"a":1}{"b":2}', 'NaN', '\u00a0', '{"a":\u0000}', "{'a':1}", '\ufeff{', 'null', '[]', '1', '"text"', '[[]]'];
    const notText = [[0xff], [0x22, 0xc3, 0x28, 0x22], [0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]];
    const deepBodies = [`${'['.repeat(20_000)}1${']'.repeat(20_000)}`, `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`];
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '', 'application/jsonx'];
    await forEachItem(withJson, async (id) => {
      const invalidRequest = [400, 'invalid_request'];
      for (const body of [...texts, ...notText.map((bytes) => Buffer.from(bytes)), ...deepBodies])
        expect(codeOf(await sendBody(api, id, ownedIds, body)), `${id} ${body.slice(0, 50)}`).toEqual(invalidRequest);
      for (const type of types)
        expect(codeOf(await sendBody(api, id, ownedIds, '{"name":"A"}', { 'content-type': type })), `${id} ${type}`).toEqual(
          invalidRequest,
        );
      expect(codeOf(await sendBody(api, id, ownedIds, Buffer.alloc(jsonLimit + 1, ' '))), id).toEqual([413, 'body_too_large']);
    });
    expect((await api.send('GET', '/healthz')).status).toBe(200);
  });

  it('does no harm, whatever its texts, numbers, and lists contain', async () => {
    const api = await fillable({ rateLimit: { limit: 1e9, windowSeconds: 60 } });
    const ownedIds = await filledTeam(api);
    await forEachItem(withJson, async (id) => {
      for (const body of hostileBodies(fullBody(id, ownedIds))) {
        const answer = await sendBody(api, id, ownedIds, body);
        expect(answer.status, `${id} ${body.slice(0, 300)} -> ${answer.text.slice(0, 300)}`).toBeLessThan(500);
      }
    });
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    // Whatever was accepted can be read.
    const readOperations = plainOperations.filter((id) => operation(id).method === 'GET' && operation(id).produces !== 'application/pdf');
    await forEachItem(readOperations, async (id) => {
      const answer = await api.call(id, requestFor(id, ownedIds));
      expect(answer.status, `${id} ${answer.text}`).toBeLessThan(500);
      // An archive is padded with it.
      if (operation(id).produces !== 'application/x-tar') expect(answer.text.includes('\u0000'), id).toBe(false);
    });
  });
});

describe('the path and the query of every operation', () => {
  it('are matched exactly: no additional slash, no other case', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    await forEachItem(operationIds, async (id) => {
      const { method, rest } = operation(id);
      const path = pathOf(id, ownedIds);
      const invalidPaths = [
        `${path}/`,
        path.replace('/v2/', '/v2//'),
        path.replace('/v2/', '/V2/'),
        `${path}/more`,
        `/${path}`,
        `${path}%2F`,
      ];
      for (const invalidPath of rest ? invalidPaths.slice(1, 3) : invalidPaths) {
        const answer = await api.send(method, invalidPath, {
          headers: json,
          body: method === 'GET' ? undefined : JSON.stringify(requestFor(id, ownedIds).body ?? {}),
        });
        expect([404, 405], `${id} ${invalidPath} ${answer.text}`).toContain(answer.status);
      }
      expect((await api.send('HEAD', path)).text, id).toBe('');
    });
  });

  it('can contain any ID: unknown ones are not found', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    const names = ['a%00b', '%F0%9F%A7%A8', '..%2fa', "'%20or%201=1--", '%25', '%5C', 'x'.repeat(10_000), '-1', '__proto__'];
    const brokenTexts = ['%', '%ff', '%ed%a0%80'];
    await forEachItem(plainOperations, async (id) => {
      const { method } = operation(id);
      const { body } = requestFor(id, ownedIds);
      for (const name of namesOf(id)) {
        for (const text of [...names, ...brokenTexts]) {
          const path = operation(id).path.replace(/\{(\w+)\}/g, (_, parameterName: string) =>
            parameterName === name ? text : (ownedIds[parameterName] as string),
          );
          const requestInit = method === 'GET' ? {} : { headers: json, body: JSON.stringify(body ?? {}) };
          const answer = await api.send(method, path, requestInit);
          const expectedStatuses = brokenTexts.includes(text) ? [400] : [400, 404];
          expect(expectedStatuses, `${id} ${name}=${text.slice(0, 40)} ${answer.text.slice(0, 300)}`).toContain(answer.status);
        }
      }
    });
  });

  it('can contain any parameters: they are rejected or answered', async () => {
    const api = await fillable();
    const ownedIds = await filledTeam(api);
    const values = ['', 'a%00b', '%ff', '%F0%9F%A7%A8', '%25%27_', '-1', '1e999', 'x'.repeat(10_000), '__proto__', ...times, ...words];
    await forEachItem(plainOperations, async (id) => {
      const { method, produces } = operation(id);
      if (produces === 'application/pdf') return;
      for (const name of [...Object.keys(schemasOf(id).query?.properties ?? {}), 'unknown']) {
        for (const value of method === 'GET' ? values : values.slice(0, 3)) {
          const answer = await api.send(method, `${pathOf(id, ownedIds)}?${name}=${value}`);
          expect(answer.status, `${id} ${name}=${value.slice(0, 40)} ${answer.text.slice(0, 300)}`).toBeLessThan(500);
        }
      }
    });
  });
});

const times = ['9999-99-99T99:99:99Z', '%2B275760-09-13T00:00:00.001Z', '0000-01-01T00:00:00Z'];
/** As many as fit into a request line. */
const words = [Array(1_500).fill('pending').join(','), Array(2_500).fill('low').join(',')];
