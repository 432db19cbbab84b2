/** Responses that are not JSON: streamed with constant memory, and restarted when they break off. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { bearerCredential } from '../../../src/client/access/credential.ts';
import { Client } from '../../../src/client/index.ts';
import { mediaContent } from '../../../src/client/transfers/media.ts';
import { whenDone } from '../../support/temporary.ts';

const params = { artifactId: '00000000-0000-4000-8000-000000000001' };

async function startClient(listener: RequestListener): Promise<Client> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = new Client({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credential: bearerCredential('key'),
    userAgent: 'test',
    clock: {
      now: () => Date.now(),
      sleep: (ms, signal) => (ms > 60_000 ? new Promise((_, reject) => signal?.addEventListener('abort', reject)) : Promise.resolve()),
    },
  });
  whenDone(() => client.close());
  return client;
}

/** Reads everything; what was read before a restart is dropped. */
async function read(client: Client, signal = new AbortController().signal): Promise<{ bytes: Buffer; restarts: number }> {
  let chunks: Uint8Array[] = [];
  let restarts = 0;
  const content = mediaContent(
    client,
    'exportArtifactPdf',
    { params },
    signal,
  )(async () => {
    chunks = [];
    restarts += 1;
  });
  for await (const chunk of content) chunks.push(chunk);
  return { bytes: Buffer.concat(chunks), restarts };
}

const largeBuffer = Buffer.alloc(40 * 1_048_576, 'abcdefg');

describe('a response that is not JSON', () => {
  it('can be larger than any JSON, and arrives unchanged', async () => {
    const seen: (string | undefined)[] = [];
    const client = await startClient((request, response) => {
      seen.push(request.headers.accept, request.headers.authorization);
      response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': largeBuffer.length }).end(largeBuffer);
    });
    const { bytes, restarts } = await read(client);
    expect(bytes.equals(largeBuffer)).toBe(true);
    expect(restarts).toBe(0);
    expect(seen).toEqual(['application/pdf', 'Bearer key']);
  });

  it('is not read faster than it is consumed', async () => {
    let sentCount = 0;
    const client = await startClient((_, response) => {
      response.writeHead(200, { 'content-type': 'application/pdf' });
      const writeMore = (): void => {
        while (sentCount < largeBuffer.length && response.write(largeBuffer.subarray(sentCount, sentCount + 65_536))) sentCount += 65_536;
        if (sentCount >= largeBuffer.length) response.end();
      };
      response.on('drain', writeMore);
      writeMore();
    });
    const content = mediaContent(client, 'exportArtifactPdf', { params }, new AbortController().signal)(async () => undefined);
    const first = await content[Symbol.asyncIterator]().next();
    expect(first.done).toBe(false);
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    // Only what fits into the buffers of both sockets was sent.
    expect(sentCount).toBeLessThan(largeBuffer.length);
    await content[Symbol.asyncIterator]().return?.(undefined);
  });

  it('is restarted when it breaks off', async () => {
    let requests = 0;
    const client = await startClient((_, response) => {
      requests += 1;
      response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': 11 });
      if (requests === 1) response.write('hello', () => response.destroy());
      else response.end('hello world');
    });
    const { bytes, restarts } = await read(client);
    expect([bytes.toString(), restarts, requests]).toEqual(['hello world', 1, 2]);
  });

  it.each([
    ['application/json', { 'content-type': 'application/json' }],
    ['of an unknown type', {}],
  ])('is rejected immediately when it is %s', async (type, headers) => {
    let requests = 0;
    const client = await startClient((_, response) => {
      requests += 1;
      response.writeHead(200, headers).end('{}');
    });
    await expect(read(client)).rejects.toThrow(`the answer was ${type}, not application/pdf`);
    expect(requests).toBe(1);
  });

  it('fails like any other response', async () => {
    const client = await startClient((_, response) =>
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"artifact_not_generated","message":"No page."}'),
    );
    await expect(read(client)).rejects.toMatchObject({ code: 'artifact_not_generated', exit: 3 });
  });

  it('ends with the signal', async () => {
    const stop = new AbortController();
    const client = await startClient((_, response) => {
      response.writeHead(200, { 'content-type': 'application/pdf' }).write('hello');
      stop.abort(new Error('enough'));
    });
    await expect(read(client, stop.signal)).rejects.toThrow('enough');
  });
});
