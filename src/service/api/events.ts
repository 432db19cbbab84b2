/** Streams of server-sent events: what happens in a run, and the human requests of a team's runs. */
import { Readable } from 'node:stream';
import type { eventOperations } from '../../interface/operations/events.ts';
import { eventSchemas } from '../../interface/schemas/events.ts';
import { ServiceError } from '../errors.ts';
import type { Topics, Waker } from '../events/change-feed.ts';
import type { EventSource } from '../events/event-source.ts';
import { eventStream } from '../events/event-stream.ts';
import { RunEvents } from '../events/run-events.ts';
import { isEndReported, runPosition, runPositions, runPresent, runStart } from '../events/run-position.ts';
import { type RunSource, RunsEvents } from '../events/runs-events.ts';
import { TeamEvents } from '../events/team-events.ts';
import { teamPosition, teamStart } from '../events/team-position.ts';
import type { Answer } from '../http/answer.ts';
import type { RawHandler, RawRequest, RequestContext } from '../http/context.ts';
import { readQuery } from '../http/validate.ts';
import { errorFields } from '../log.ts';
import { findRun } from '../store/runs/runs.ts';
import { requireRun, requireTeam } from './shared/lookups.ts';

/** Milliseconds that a reader has for the end of a stream when the service shuts down. */
const lastMilliseconds = 250;

/** Changes of these tables can revoke a token's permission to read. */
const accessTables = ['tokens', 'credentials'];

export const eventRoutes: { readonly [Id in keyof typeof eventOperations]: RawHandler } = {
  async streamRunEvents(context, request) {
    const run = await requireRun(context, request.params.run_id ?? '');
    const lastId = lastEventId(request);
    const { from } = readQuery(eventSchemas.streamRunEvents.query, request.search) as { from?: 'now' };
    const { store } = context.engine;
    const position = lastId !== undefined ? runPosition(lastId) : from === 'now' ? await runPresent(store, run) : runStart();
    // Everything was read, including the end: "No Content" makes browsers stop reconnecting.
    if (isEndReported(position, run)) return { status: 204, headers: {}, body: '' };
    const source = new RunEvents(store, { teamId: context.teamId, id: run.id }, position);
    return streamAnswer(context, request, () => source, { tables: accessTables, ids: [run.id] });
  },

  async streamRunsEvents(context, request) {
    requireTeam(context, request.params.teamId ?? '');
    const { store } = context.engine;
    const { run_ids } = readQuery(eventSchemas.streamRunsEvents.query, request.search) as { run_ids: string };
    const ids = runIdsOf(run_ids);
    const positions = runPositions(lastEventId(request));
    const sources: RunSource[] = [];
    for (const id of ids) {
      const run = await findRun(store, context.teamId, id);
      const position = positions.get(id) ?? runStart();
      sources.push({ id, events: run && new RunEvents(store, { teamId: context.teamId, id }, position) });
    }
    return streamAnswer(context, request, (waker) => new RunsEvents(sources, waker), { tables: accessTables, ids });
  },

  async streamTeamEvents(context, request) {
    requireTeam(context, request.params.teamId ?? '');
    const lastId = lastEventId(request);
    const { store } = context.engine;
    const includesRuns = (readQuery(eventSchemas.streamTeamEvents.query, request.search) as { include?: string }).include === 'runs';
    const source = new TeamEvents(store, context.teamId, {
      position: lastId === undefined ? await teamStart(store, context.teamId) : teamPosition(lastId),
      includesRuns,
    });
    return streamAnswer(context, request, () => source, {
      tables: [...accessTables, 'human_requests', ...(includesRuns ? ['run_totals'] : [])],
    });
  },
};

/** The header that browsers' EventSource sends; empty before the first event. */
function lastEventId({ headers }: RawRequest): string | undefined {
  const value = headers['last-event-id'];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Maximum number of runs of one stream: their IDs and positions must fit into the head of a request. */
const maxRunIds = 50;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @throws ServiceError 400 for anything but 1 to 50 IDs */
function runIdsOf(list: string): string[] {
  const ids = [...new Set(list.toLowerCase().split(','))];
  if (ids.length <= maxRunIds && ids.every((id) => uuid.test(id))) return ids;
  const message = `must be the IDs of 1 to ${maxRunIds} runs, separated by commas`;
  throw new ServiceError(400, 'invalid_request', `run_ids ${message}.`, { details: [{ path: 'run_ids', message }] });
}

function streamAnswer(context: RequestContext, request: RawRequest, sourceFor: (waker: Waker) => EventSource, topics: Topics): Answer {
  const { feed, slots, heartbeatMilliseconds } = request.streams;
  const headers = {
    'Content-Type': 'text/event-stream; charset=utf-8',
    // Proxies must not hold back events.
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
  };
  if (request.method === 'HEAD') return { status: 200, headers, body: '' };
  const release = slots.take(context.credentialId);
  const waker = feed.waker(topics);
  const { signal, isAllowed } = request;
  const logFailure = (error: unknown): void =>
    context.engine.log('error', 'a stream of events failed', { request: context.requestId, ...errorFields(error) });
  const body = Readable.from(eventStream(sourceFor(waker), { waker, signal, heartbeatMilliseconds, isAllowed, onError: logFailure }), {
    highWaterMark: 1,
  });
  // A reader that does not read must not hold up the shutdown.
  const destroyLater = (): void => void setTimeout(() => body.destroy(), lastMilliseconds).unref();
  signal.addEventListener('abort', destroyLater, { once: true });
  body.once('close', () => {
    signal.removeEventListener('abort', destroyLater);
    waker.close();
    release();
  });
  return { status: 200, headers, body };
}
