/** Watching so many runs that their event streams need more connections than a client uses for other requests. */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import type { StreamLimits } from '../../src/watch/many/run-streams.ts';
import { RunsWatch } from '../../src/watch/many/watch-runs.ts';
import { afterTest } from '../support/temporary.ts';

const runIds = Array.from({ length: 500 }, (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`);
const createdAt = '2026-07-18T09:00:00.000Z';

interface StreamingService {
  url: string;
  openStreams: Set<ServerResponse>;
  endedIds: Set<string>;
}

/** A service whose event streams report the status of their runs, and then stay open. */
async function startStreamingService(): Promise<StreamingService> {
  const openStreams = new Set<ServerResponse>();
  const endedIds = new Set<string>();
  const service: StreamingService = { url: '', openStreams, endedIds };
  const rowOf = (id: string) => ({
    id,
    status: endedIds.has(id) ? 'completed' : 'running',
    created_at: createdAt,
    pending_human_request: null,
  });
  const stream = (response: ServerResponse, ids: readonly string[]): void => {
    openStreams.add(response);
    response.once('close', () => openStreams.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    for (const id of ids) {
      const { status } = rowOf(id);
      response.write(`id: ${id}:1\nevent: run.status\ndata: ${JSON.stringify({ run_id: id, status, previous: null })}\n\n`);
      if (status !== 'running')
        response.write(`id: ${id}:2\nevent: run.finished\ndata: ${JSON.stringify({ run_id: id, run: rowOf(id) })}\n\n`);
    }
  };
  const answer = ({ url = '' }: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname.endsWith('/events')) {
      stream(response, searchParams.get('run_ids')?.split(',') ?? []);
      return;
    }
    const offset = Number(searchParams.get('offset'));
    const body = pathname.endsWith('/t1/runs')
      ? { data: runIds.slice(offset, offset + Number(searchParams.get('limit'))).map(rowOf), total: runIds.length }
      : pathname.endsWith('/messages')
        ? { messages: [], total: 0, limit: 50, offset }
        : { run: rowOf(pathname.split('/').at(-1) as string), pending_human_request: null };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = http.createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

function clientOf({ url }: StreamingService): Client {
  const client = new Client({ baseUrl: url, credential: bearerCredential('token'), userAgent: 'aops/test' });
  afterTest(() => client.close());
  return client;
}

function watchAll(client: Client, streamLimits?: StreamLimits): RunsWatch {
  const stop = new AbortController();
  afterTest(() => stop.abort(new Error('The test is over.')));
  return new RunsWatch(
    client,
    { kind: 'named', runs: runIds.map((id) => ({ id })) },
    { clock: systemClock, signal: stop.signal, teamId: 't1', messages: true, ...(streamLimits && { streamLimits }) },
  );
}

it('reports the runs of all streams, and leaves connections for other requests', async () => {
  const service = await startStreamingService();
  const client = clientOf(service);
  const reportedIds = new Set<string>();
  for await (const { run } of watchAll(client).updates()) {
    if (run !== undefined) reportedIds.add(run.id);
    if (reportedIds.size === runIds.length) break;
  }
  // One for 50 runs each, and that of the team.
  expect(service.openStreams.size).toBe(11);
  const { run } = await client.call('getRun', { params: { run_id: runIds[0] as string } });
  expect(run.id).toBe(runIds[0]);
});

it('polls the runs for which there are no streams left, and reports every end', async () => {
  const service = await startStreamingService();
  const watch = watchAll(clientOf(service), { streams: 4, runsPerStream: 50 });
  const runningIds = new Set<string>();
  const finishedIds = new Set<string>();
  for await (const { run, body } of watch.updates()) {
    if (run === undefined) continue;
    if (body.type === 'run.status' && body.data.status === 'running') runningIds.add(run.id);
    if (body.type === 'run.finished') finishedIds.add(run.id);
    if (runningIds.size < runIds.length || service.endedIds.size > 0) continue;
    // Four of runs, and that of the team.
    expect(service.openStreams.size).toBe(5);
    for (const id of runIds) service.endedIds.add(id);
    for (const response of service.openStreams) response.end();
    watch.hurry();
  }
  expect(finishedIds.size).toBe(runIds.length);
});
