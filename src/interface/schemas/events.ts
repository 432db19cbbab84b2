import Type from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { eventOperations } from '../operations/events.ts';
import { Words } from './common.ts';

export const eventSchemas = {
  streamRunEvents: {
    query: Type.Object({
      /** `now` omits past events. */
      from: Type.Optional(Words(['now'])),
    }),
    response: Type.String({
      description:
        'Server-sent events until the run has ended: message {message}, run.status {status, previous}, human_request.pending {human_request}, human_request.resolved {human_request_id, title, resolution}, and run.finished {run}, which is the last. Each has an id; a request with it as Last-Event-ID continues after that event, and is answered 204 after the last one.',
    }),
  },
  streamTeamEvents: {
    query: Type.Object({
      /** `runs` adds runs.changed, a hint without an ID: runs were started or changed their status. */
      include: Type.Optional(Words(['runs'])),
    }),
    response: Type.String({
      description:
        'Server-sent events: human_request.pending {human_request, run} and human_request.resolved {human_request_id, run_id, title, resolution}. A new stream begins with everything that is pending. Each has an id; a request with it as Last-Event-ID continues after that event. With include=runs also runs.changed {}, a hint without an id that runs were started or have another status.',
    }),
  },
} as const satisfies Record<keyof typeof eventOperations, OperationSchemas>;
