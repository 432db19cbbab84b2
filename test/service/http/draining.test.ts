/** Closing the service finishes what was begun, takes nothing new, and waits no longer than its bound. */
import { describe, expect, it } from 'vitest';
import { promptly } from '../../support/promptly.ts';
import { auth, dial, received, statusOf } from '../helpers/raw.ts';
import { started } from '../helpers/service.ts';

describe('closing', () => {
  it('responds to a request whose body is still arriving, refuses new connections, and closes', async () => {
    const api = await started();
    const socket = await dial(api);
    const answer = received(socket);
    const body = '{"name":"Last"}';
    const head = `POST /v2/teams/${api.service.teamId}/agents HTTP/1.1\r\n${auth(api)}Content-Type: application/json\r\n`;
    // "100 Continue" says that the request is being handled.
    const handled = new Promise<void>((resolve) => socket.once('data', () => resolve()));
    socket.write(`${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
    await handled;
    const closed = api.service.close();
    await expect(api.send('GET', '/healthz')).rejects.toThrow();
    socket.write(body);
    const text = await answer;
    expect(statusOf(text.slice(text.indexOf('\r\n\r\n') + 4))).toBe(201);
    await closed;
    const restartedApi = await started({ dataDirectory: api.dataDirectory });
    expect((await restartedApi.ok('listAgents')).agents).toMatchObject([{ name: 'Last' }]);
  });

  it('does not wait for connections that never sent anything', async () => {
    const api = await started();
    const ended = received(await dial(api));
    await promptly(() => api.service.close(), 3_000);
    expect(await ended).toBe('');
  });

  it('does not wait for idle connections, nor for ever for a request that makes no progress', async () => {
    const api = await started({ httpLimits: { bodyMilliseconds: 600_000 } });
    const idle = await dial(api);
    const idleEnd = received(idle);
    const stuck = await dial(api);
    const stuckEnd = received(stuck);
    stuck.write(`POST /v2/sandboxes HTTP/1.1\r\n${auth(api)}Expect: 100-continue\r\nContent-Length: 10\r\n\r\n`);
    await new Promise<void>((resolve) => stuck.once('data', () => resolve()));
    const begun = performance.now();
    await api.service.close();
    const took = performance.now() - begun;
    expect(took).toBeGreaterThan(4_000);
    expect(took).toBeLessThan(9_000);
    expect(await idleEnd).toBe('');
    expect(await stuckEnd).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  });
});
