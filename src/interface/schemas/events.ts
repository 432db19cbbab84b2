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
        'Server-sent events until the run has ended: message {message}, run.status {status, previous}, human_request.pending {human_request}, human_request.reminder {human_request}, human_request.resolved {human_request_id, title, resolution}, and run.finished {run}, which is the last. Each has an id; a request with it as Last-Event-ID continues after that event, and is answered 204 after the last one.',
    }),
  },
  streamRunsEvents: {
    query: Type.Object({
      run_ids: Type.String({ minLength: 1, maxLength: 2_000, description: 'The IDs of 1 to 50 runs, separated by commas.' }),
    }),
    response: Type.String({
      description:
        'Server-sent events until all of the runs have ended: those of streamRunEvents, with run_id in their data, and run.missing {run_id}, without an id, for a run that does not exist. The order of the events of one run is kept. Each has an id; a request with the last id of each run as Last-Event-ID, separated by commas, continues after these events.',
    }),
  },
  streamTeamEvents: {
    query: Type.Object({
      /** `runs` adds runs.changed, a hint without an ID: runs were started or changed their status. */
      include: Type.Optional(Words(['runs'])),
    }),
    response: Type.String({
      description:
        'Server-sent events: human_request.pending {human_request, run}, human_request.reminder {human_request, run}, and human_request.resolved {human_request_id, run_id, title, resolution}. A new stream begins with everything that is pending. Each has an id; a request with it as Last-Event-ID continues after that event. With include=runs also runs.changed {}, a hint without an id that runs were started or have another status.',
    }),
  },
} as const satisfies Record<keyof typeof eventOperations, OperationSchemas>;
