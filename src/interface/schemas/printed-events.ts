/**
 * The events that the command line prints with `-o ndjson`, one on each line. They are not a part of the HTTP interface, but of its
 * document, so that programs that read them can be generated and checked.
 */
import Type, { type TObject } from 'typebox';
import { Artifact, ArtifactMessage } from './artifacts.ts';
import { DateTime, Extended, FreeForm, Nullable, Uuid, Words } from './common.ts';
import { BuilderRun, BuilderRunProgress } from './revisions.ts';
import { HumanRequest, Run, RunMessage } from './runs.ts';

/** The version of the form of events: `v`. It changes when a member is removed or changes its meaning, not when one is added. */
export const printedEventVersion = 1;

const envelope = {
  v: Type.Literal(printedEventVersion, { description: 'The version of the form of events.' }),
  seq: Type.Integer({ minimum: 1, description: 'Counts from 1 in a stream, and continues when the stream is resumed.' }),
  ts: Type.String({ format: 'date-time', description: 'When the command received it.' }),
  resume: Type.Union([Type.String({ pattern: '^r\\d' }), Type.Null()], {
    description: 'The value for --resume that continues the stream after this event; null if the stream cannot be resumed.',
  }),
};

/** An event of a stream. @param subject what the event is about */
const event = (subject: Record<string, typeof Uuid>, type: string, data: TObject) =>
  Type.Object({ ...envelope, ...subject, type: Type.Literal(type), data });

/** The alternatives of a stream: its types, each with its data. */
const eventsOf = (name: string, subject: Record<string, typeof Uuid>, types: Record<string, TObject>, description: string) =>
  Type.Union(
    Object.entries(types).map(([type, data]) => event(subject, type, data)),
    { $id: name, description },
  );

const statusChange = Type.Object({ status: Type.String(), previous: Nullable(Type.String()) });
const waiting = {
  'rate_limit.waiting': Type.Object({ wait_seconds: Type.Integer({ minimum: 0 }), until: DateTime }),
};

export const RunEvent = eventsOf(
  'RunEvent',
  { run_id: Uuid },
  {
    'run.status': statusChange,
    message: Type.Object({ message: RunMessage }),
    'human_request.pending': Type.Object({ human_request: HumanRequest }),
    'human_request.reminder': Type.Object({ human_request: HumanRequest }),
    'human_request.resolved': Type.Object({
      human_request_id: Type.String(),
      title: Type.String(),
      resolution: Words(['answered', 'withdrawn']),
    }),
    ...waiting,
    'run.finished': Type.Object({ run: Run }),
  },
  'An event of `runs watch` and `runs start --watch`.',
);

/** A request with its run, as the inbox contains it. */
const InboxRequest = Extended('InboxRequest', HumanRequest, {
  run_id: Uuid,
  run_title: Type.String(),
  run_number: Nullable(Type.Integer()),
  agent_id: Nullable(Uuid),
  agent_name: Type.String(),
  profile: Type.Optional(Type.String()),
});

export const InboxEvent = eventsOf(
  'InboxEvent',
  { run_id: Uuid },
  {
    'human_request.pending': Type.Object({ human_request: InboxRequest }),
    'human_request.reminder': Type.Object({ human_request: InboxRequest }),
    'human_request.resolved': Type.Object({
      human_request_id: Type.String(),
      title: Type.String(),
      profile: Type.Optional(Type.String()),
    }),
  },
  'An event of `inbox --watch`.',
);

export const BuilderRunEvent = eventsOf(
  'BuilderRunEvent',
  { builder_run_id: Uuid },
  {
    'builder_run.status': statusChange,
    'builder_run.phase': Type.Object({ phase: Type.String() }),
    'builder_run.asking': Type.Object({ questions: HumanRequest }),
    'builder_run.answered': Type.Object({ request_id: Type.String() }),
    ...waiting,
    'builder_run.proposed': Type.Object({ builder_run: BuilderRun }),
    'builder_run.finished': Type.Object({ builder_run: Type.Union([BuilderRun, BuilderRunProgress]) }),
  },
  'An event of `revisions watch` and `revisions generate`.',
);

/** The ID of a question is that of its tool call, which need not be a UUID. */
const ArtifactQuestions = Type.Intersect([Type.Omit(HumanRequest, ['id']), Type.Object({ id: Type.String() })]);

export const ArtifactEvent = eventsOf(
  'ArtifactEvent',
  { artifact_id: Uuid },
  {
    'artifact.status': statusChange,
    'artifact.message': Type.Object({ message: ArtifactMessage }),
    'artifact.asking': Type.Object({ questions: ArtifactQuestions }),
    'artifact.answered': Type.Object({ tool_call_id: Type.String() }),
    ...waiting,
    'artifact.finished': Type.Object({ artifact: Artifact }),
  },
  'An event of `artifacts watch`, and of `artifacts create --watch` and `artifacts send --watch`.',
);

export const ListenerEvent = eventsOf(
  'ListenerEvent',
  {},
  {
    listening: Type.Object({ url: Type.String() }),
    delivery: Type.Object({
      received_at: DateTime,
      id: Type.String(),
      event: Type.String(),
      signed_at: Type.Union([DateTime, Type.Null()], { description: 'Null for a delivery that did not arrive here.' }),
      duplicate: Type.Boolean(),
      forwarded: Type.Optional(FreeForm),
      delivery_id: Type.Optional(Uuid),
      created_at: Type.Optional(DateTime),
      headers: Type.Record(Type.String(), Type.String()),
      body: Type.String(),
    }),
    refused: Type.Object({ received_at: DateTime, reason: Type.String(), message: Type.String(), hint: Type.String() }),
  },
  'An event of `webhooks listen`. Its members `v`, `seq`, `ts`, `data`, and `resume` are those of all streams; those of `data` are repeated next to it.',
);

/** Any event that is printed. */
export const PrintedEvent = Type.Union([RunEvent, InboxEvent, BuilderRunEvent, ArtifactEvent, ListenerEvent], { $id: 'PrintedEvent' });
