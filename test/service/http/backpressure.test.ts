/** A disk that is slower than the network: what it has not taken yet waits with the client, and not in the memory of the service. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { afterTest } from '../../support/temporary.ts';
import { fileHandles } from '../helpers/disk.ts';
import { type Api, startApi } from '../helpers/service.ts';

const mebibyte = 1024 * 1024;

/** The request to an address, as the service has it. */
function requestTo(part: string): () => IncomingMessage {
  let incomingRequest: IncomingMessage | undefined;
  const listener = (message: unknown): void => {
    const { request } = message as { request: IncomingMessage };
    if (request.url?.includes(part)) incomingRequest = request;
  };
  subscribe('http.server.request.start', listener);
  afterTest(() => unsubscribe('http.server.request.start', listener));
  return () => {
    if (incomingRequest === undefined) throw new Error(`There was no request to ${part}.`);
    return incomingRequest;
  };
}

/**
 * A disk that writes only once the service has stopped reading, or has read all there is: the slowest that there can be.
 * Returns how many bytes had at most been read from the connection and not been taken by the disk.
 */
async function slowestDisk(request: () => IncomingMessage): Promise<() => number> {
  const handles = await fileHandles();
  const { writeFile } = handles;
  let lead = 0;
  let takenBytes = 0;
  const spy = vi.spyOn(handles, 'writeFile').mockImplementation(async function (this: FileHandle, data) {
    const { socket } = request();
    while (!socket.isPaused() && !request().complete) await turn();
    lead = Math.max(lead, socket.bytesRead - takenBytes);
    takenBytes += (data as Uint8Array).length;
    await writeFile.call(this, data);
  });
  afterTest(() => spy.mockRestore());
  return () => lead;
}

async function uploadUrl(api: Api): Promise<{ url: string; sandboxId: string }> {
  const { sandbox_id } = await api.ok('createSandbox');
  const { upload_url } = await api.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'a.bin' } });
  return { url: upload_url, sandboxId: sandbox_id };
}

itNeeding(needsSqlite, 'an upload is read from the connection as fast as the disk accepts it', async () => {
  const api = await startApi();
  const { url } = await uploadUrl(api);
  const lead = await slowestDisk(requestTo('/uploads/'));
  const answer = await api.send('PUT', url, { anonymous: true, body: Buffer.alloc(32 * mebibyte) });
  expect([answer.status, answer.body]).toEqual([201, { path: '/workspace/a.bin', size_bytes: 32 * mebibyte }]);
  expect(lead()).toBeGreaterThan(0);
  expect(lead()).toBeLessThan(mebibyte / 2);
});

it('a form is read from the connection as fast as the disk accepts it', async () => {
  const api = await startApi();
  const { sandbox_id } = await api.ok('createSandbox');
  const lead = await slowestDisk(requestTo(`/v2/sandboxes/${sandbox_id}/files`));
  const size = 9 * mebibyte;
  const form = new FormData();
  form.append('path', 'a.bin');
  form.append('file', new File([Buffer.alloc(size)], 'a.bin'));
  const answer = await api.call('uploadSandboxFile', { params: { sandbox_id }, body: form });
  expect([answer.status, answer.body]).toEqual([201, { path: '/workspace/a.bin', size_bytes: size }]);
  expect(lead()).toBeGreaterThan(0);
  // What stays in memory of a file that turns out to be large is more than of a stream.
  expect(lead()).toBeLessThan(mebibyte);
});

itNeeding(needsSqlite, 'an upload that the disk rejects gets a response, and leaves nothing behind', async () => {
  const messages: string[] = [];
  const api = await startApi({ log: ({ message }) => messages.push(message) });
  const { url, sandboxId } = await uploadUrl(api);
  const handles = await fileHandles();
  const spy = vi.spyOn(handles, 'writeFile').mockRejectedValueOnce(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
  afterTest(() => spy.mockRestore());
  const answer = await api.send('PUT', url, { anonymous: true, body: Buffer.alloc(8 * mebibyte) });
  expect([answer.status, (answer.body as { error: string }).error]).toEqual([503, 'disk_full']);
  expect(messages).toContain('a request failed');
  expect((await api.ok('listSandboxFiles', { params: { sandbox_id: sandboxId } })).files).toEqual([]);
});
