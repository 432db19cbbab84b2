import type { Operation } from '../operation.ts';

/** What happens, as streams of server-sent events. Not part of the interface: a service without them is polled. */
export const eventOperations = {
  streamRunEvents: {
    method: 'GET',
    path: '/v2/runs/{run_id}/events',
    idempotent: false,
    success: 200,
    summary: 'Stream the events of a run as server-sent events',
    produces: 'text/event-stream',
    extension: true,
  },
  streamRunsEvents: {
    method: 'GET',
    path: '/v2/teams/{teamId}/runs/events',
    idempotent: false,
    success: 200,
    summary: 'Stream the events of several runs as server-sent events',
    produces: 'text/event-stream',
    extension: true,
  },
  streamTeamEvents: {
    method: 'GET',
    path: '/v2/teams/{teamId}/events',
    idempotent: false,
    success: 200,
    summary: 'Stream the human requests of a team as server-sent events',
    produces: 'text/event-stream',
    extension: true,
  },
} as const satisfies Record<string, Operation>;
