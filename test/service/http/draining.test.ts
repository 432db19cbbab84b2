/** Closing the service finishes what was begun, takes nothing new, and waits no longer than its bound. */
import { describe, expect, it } from 'vitest';
import { runPromptly } from '../../support/promptly.ts';
import { auth, dial, receiveAll, statusOf } from '../helpers/raw.ts';
import { type Api, startApi } from '../helpers/service.ts';

/** Begins to create an agent. The service handles the request, and waits for its body, which the function that is returned sends. */
async function beginAgent(api: Api, name: string) {
  const socket = await dial(api);
  const answer = receiveAll(socket);
  const body = JSON.stringify({ name });
  const head = `POST /v2/teams/${api.service.teamId}/agents HTTP/1.1\r\n${auth(api)}Content-Type: application/json\r\n`;
  // "100 Continue" says that the request is being handled.
  const firstData = new Promise<void>((resolve) => socket.once('data', () => resolve()));
  socket.write(`${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
  await firstData;
  return async () => {
    socket.write(body);
    const text = await answer;
    return statusOf(text.slice(text.indexOf('\r\n\r\n') + 4));
  };
}

describe('closing', () => {
  it('responds to requests whose bodies are still arriving, refuses new connections, and closes', async () => {
    const api = await startApi();
    const [sendFirst, sendLast] = [await beginAgent(api, 'First'), await beginAgent(api, 'Last')];
    const closing = api.service.close();
    await expect(api.send('GET', '/healthz')).rejects.toThrow();
    expect(await sendFirst()).toBe(201);
    expect(await sendLast()).toBe(201);
    await closing;
    const restartedApi = await startApi({ dataDirectory: api.dataDirectory });
    expect((await restartedApi.ok('listAgents')).agents.map(({ name }) => name).sort()).toEqual(['First', 'Last']);
  });

  it('does not wait for connections that never sent anything', async () => {
    const api = await startApi();
    const pendingReply = receiveAll(await dial(api));
    await runPromptly(() => api.service.close(), 3_000);
    expect(await pendingReply).toBe('');
  });

  it('does not wait for idle connections, nor for ever for a request that makes no progress', async () => {
    const api = await startApi({ httpLimits: { bodyMilliseconds: 600_000 } });
    const idle = await dial(api);
    const idleEnd = receiveAll(idle);
    const stuckSocket = await dial(api);
    const stuckEnd = receiveAll(stuckSocket);
    stuckSocket.write(`POST /v2/sandboxes HTTP/1.1\r\n${auth(api)}Expect: 100-continue\r\nContent-Length: 10\r\n\r\n`);
    await new Promise<void>((resolve) => stuckSocket.once('data', () => resolve()));
    const startedAt = performance.now();
    await runPromptly(() => api.service.close(), 9_000);
    expect(performance.now() - startedAt).toBeGreaterThan(4_000);
    expect(await idleEnd).toBe('');
    expect(await stuckEnd).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  });
});
