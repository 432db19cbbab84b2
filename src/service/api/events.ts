/** Streams of server-sent events: what happens in a run, and what the runs of a team ask of people. */
import { Readable } from 'node:stream';
import type { eventOperations } from '../../interface/operations/events.ts';
import { eventSchemas } from '../../interface/schemas/events.ts';
import type { Topics } from '../events/change-feed.ts';
import type { EventSource } from '../events/event-source.ts';
import { eventStream } from '../events/event-stream.ts';
import { RunEvents } from '../events/run-events.ts';
import { runPosition, runPresent, runStart } from '../events/run-position.ts';
import { TeamEvents } from '../events/team-events.ts';
import { teamPosition, teamStart } from '../events/team-position.ts';
import type { Answer } from '../http/answer.ts';
import type { RawHandler, RawRequest, RequestContext } from '../http/context.ts';
import { readQuery } from '../http/validate.ts';
import { errorFields } from '../log.ts';
import { isTerminal } from '../store/runs/runs.ts';
import { requireRun, requireTeam } from './shared/lookups.ts';

/** Milliseconds that a reader has for the last of a stream when the service ends. */
const lastMilliseconds = 250;

/** What takes a token its right to read. */
const accessTables = ['tokens', 'credentials'];

export const eventRoutes: { readonly [Id in keyof typeof eventOperations]: RawHandler } = {
  async streamRunEvents(context, request) {
    const run = await requireRun(context, request.params.run_id ?? '');
    const given = lastEventId(request);
    const { from } = readQuery(eventSchemas.streamRunEvents.query, request.search) as { from?: 'now' };
    const { store } = context.engine;
    const position = given !== undefined ? runPosition(given) : from === 'now' ? await runPresent(store, run) : runStart();
    // Everything was read, also the end: "No Content" makes browsers stop connecting.
    if (position.finished && isTerminal(run.status) && run.status === position.status) return { status: 204, headers: {}, body: '' };
    const source = new RunEvents(store, { teamId: context.teamId, id: run.id }, position);
    return streamAnswer(context, request, source, { tables: accessTables, ids: [run.id] });
  },

  async streamTeamEvents(context, request) {
    requireTeam(context, request.params.teamId ?? '');
    const given = lastEventId(request);
    const { store } = context.engine;
    const includesRuns = (readQuery(eventSchemas.streamTeamEvents.query, request.search) as { include?: string }).include === 'runs';
    const source = new TeamEvents(store, context.teamId, {
      position: given === undefined ? await teamStart(store, context.teamId) : teamPosition(given),
      includesRuns,
    });
    return streamAnswer(context, request, source, { tables: [...accessTables, 'human_requests', ...(includesRuns ? ['run_totals'] : [])] });
  },
};

/** The header of browsers' EventSource; empty before there was an event. */
function lastEventId({ headers }: RawRequest): string | undefined {
  const value = headers['last-event-id'];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function streamAnswer(context: RequestContext, request: RawRequest, source: EventSource, topics: Topics): Answer {
  const { feed, slots, heartbeatMilliseconds } = request.streams;
  const headers = {
    'Content-Type': 'text/event-stream; charset=utf-8',
    // Whatever is on the way must not hold events back.
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
  };
  if (request.method === 'HEAD') return { status: 200, headers, body: '' };
  const release = slots.take(context.credentialId);
  const waker = feed.waker(topics);
  const { signal, allowed } = request;
  const failed = (error: unknown): void =>
    context.engine.log('error', 'a stream of events failed', { request: context.requestId, ...errorFields(error) });
  const body = Readable.from(eventStream(source, { waker, signal, heartbeatMilliseconds, allowed, failed }), { highWaterMark: 1 });
  // A reader that takes nothing must not hold up the end of the service.
  const cut = (): void => void setTimeout(() => body.destroy(), lastMilliseconds).unref();
  signal.addEventListener('abort', cut, { once: true });
  body.once('close', () => {
    signal.removeEventListener('abort', cut);
    waker.close();
    release();
  });
  return { status: 200, headers, body };
}
