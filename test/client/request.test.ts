import { describe, expect, it } from 'vitest';
import { checkedIdempotencyKey, newIdempotencyKey } from '../../src/client/idempotency.ts';
import { fillPath, operationRequest, queryString } from '../../src/client/request.ts';
import { json } from '../faults/raw-server.ts';
import { newClient, scriptedServer } from './harness.ts';

describe('a path', () => {
  it('encodes each ID as one segment', () => {
    expect(fillPath('/v2/runs/{run_id}', { run_id: 'a/b?c#d e%2e' })).toBe('/v2/runs/a%2Fb%3Fc%23d%20e%252e');
    expect(fillPath('/v2/agent/{agentId}/runs/{runId}', { agentId: '$&', runId: '{agentId}' })).toBe('/v2/agent/%24%26/runs/%7BagentId%7D');
  });

  it.each(['', '.', '..', 'a\r\nb', 'a\0b', 'a\tb', '\x7f'])('rejects %j as an ID', (run_id) => {
    expect(() => fillPath('/v2/runs/{run_id}', { run_id })).toThrow('is not a valid ID (run_id)');
  });

  it('rejects a missing ID', () => {
    expect(() => fillPath('/v2/runs/{run_id}', {})).toThrow('is not a valid ID');
  });

  it('is sent as encoded, below the path of the base URL', async () => {
    const server = await scriptedServer(json(200, { run: {} }));
    await newClient(`${server.url}/api`).client.call('getRun', { params: { run_id: '../runs' } });
    expect(server.requests[0]?.path).toBe('/api/v2/runs/..%2Fruns');
  });
});

describe('a query', () => {
  it('omits undefined parameters, and encodes the others', () => {
    expect(queryString({ a: 1, b: undefined, c: null, d: false, e: 'x&y=z é' })).toBe('?a=1&d=false&e=x%26y%3Dz+%C3%A9');
    expect(queryString({})).toBe('');
    expect(queryString()).toBe('');
  });
});

describe('a request', () => {
  it('is derived from the operation', () => {
    expect(operationRequest('listRuns', { params: { teamId: 't' }, query: { limit: 5 } })).toEqual({
      method: 'GET',
      path: '/v2/teams/t/runs?limit=5',
      headers: {},
      mutates: false,
    });
    expect(operationRequest('stopRun', { params: { run_id: 'r' } })).toEqual({
      method: 'POST',
      path: '/v2/runs/r/stop',
      headers: {},
      mutates: true,
    });
    expect(operationRequest('postRunMessage', { params: { run_id: 'r' }, body: { message: 'ü' } })).toMatchObject({
      headers: { 'content-type': 'application/json' },
      body: '{"message":"ü"}',
    });
  });

  it('without a body is sent with a content length of 0', async () => {
    const server = await scriptedServer(json(200, { run: {} }));
    await newClient(server.url).client.call('stopRun', { params: { run_id: 'r' } });
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      headers: { 'content-length': '0', accept: 'application/json', 'user-agent': 'aops/test' },
    });
    expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
  });
});

describe('an idempotency key', () => {
  it('is new each time and is accepted when it is passed again', () => {
    const key = newIdempotencyKey();
    expect(newIdempotencyKey()).not.toBe(key);
    expect(checkedIdempotencyKey(key)).toBe(key);
    expect(checkedIdempotencyKey('~'.repeat(255))).toHaveLength(255);
  });

  it('is not repeated in the message when it is rejected', () => {
    expect(() => checkedIdempotencyKey('my secret')).toThrow(
      expect.objectContaining({ exit: 2, message: expect.not.stringContaining('secret') }),
    );
  });
});
