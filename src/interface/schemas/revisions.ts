import Type, { type Static } from 'typebox';
import { builderRunStatuses } from '../builder-run-status.ts';
import type { OperationSchemas } from '../operation.ts';
import type { revisionOperations } from '../operations/revisions.ts';
import { DateTime, FreeForm, Named, Nullable, Uuid, Words } from './common.ts';

const StatusWord = Words([...builderRunStatuses], { $id: 'BuilderRunStatus' });

/** Interface part 2.11. Readers accept other statuses. */
export const BuilderRun = Named('BuilderRun', {
  id: Uuid,
  status: StatusWord,
  build_id: Nullable(Uuid),
  /** The agent whose revision it is. */
  assignment_id: Nullable(Uuid),
  prompt: Nullable(Type.String()),
  /** `edit`, or `create` for a revision that had no configuration. */
  mode: Type.String(),
  /** The state from which the builder continues: the answers so far. */
  checkpoint_config: Nullable(FreeForm),
  /** In the form of a human request of type `question`. */
  pending_user_questions: Nullable(FreeForm),
  schedule_suggested: Type.Boolean(),
  phase: Nullable(Type.String()),
  /** What has to be set up before the proposal can run: `type`, `name`, `title`, `description`, `satisfied`. */
  setup_changes: Type.Array(FreeForm),
  error: Nullable(Type.String()),
  /** When it started, or started again after answers. */
  started_at: Nullable(DateTime),
  completed_at: Nullable(DateTime),
  created_at: Type.Optional(DateTime),
  /** How a person ended it: `accepted`, `declined`, `discarded`. */
  resolution: Type.Optional(Nullable(Type.String())),
  /** The changes, one sentence each. */
  changes: Type.Optional(Type.Array(Type.String())),
  warnings: Type.Optional(Nullable(Type.Array(FreeForm))),
  /** The configuration of the revision before the change, and the proposed one. */
  base_config: Type.Optional(Nullable(FreeForm)),
  proposed_config: Type.Optional(Nullable(FreeForm)),
});
export type BuilderRun = Static<typeof BuilderRun>;

/** A builder run as accept, decline and discard return it. */
const ReviewedBuilderRun = Named('ReviewedBuilderRun', {
  id: Uuid,
  status: StatusWord,
  build_id: Type.String(),
  started_at: Nullable(DateTime),
  completed_at: Nullable(DateTime),
  checkpoint_config: Nullable(FreeForm),
  pending_user_questions: Nullable(FreeForm),
  schedule_suggested: Type.Optional(Type.Boolean()),
  warnings: Type.Optional(Nullable(Type.Array(FreeForm))),
  resolution: Type.Optional(Nullable(Type.String())),
});
export type ReviewedBuilderRun = Static<typeof ReviewedBuilderRun>;

/** The progress of a builder run. The interface does not define its form. */
export const BuilderRunProgress = Named('BuilderRunProgress', {
  id: Uuid,
  build_id: Nullable(Uuid),
  status: StatusWord,
  phase: Nullable(Type.String()),
  error: Nullable(Type.String()),
  started_at: Nullable(DateTime),
  completed_at: Nullable(DateTime),
});
export type BuilderRunProgress = Static<typeof BuilderRunProgress>;

/** The builder run that the caller has seen. The default is the current one. */
const Guard = Named('BuilderRunGuard', {
  builder_run_id: Type.Optional(Uuid),
  expected_started_at: Type.Optional(Nullable(DateTime)),
});

export const revisionSchemas = {
  generateRevision: {
    body: Type.Object({
      /** The requested change, in words (docs/revisions.md). */
      prompt: Type.String({ minLength: 1, maxLength: 20_000 }),
    }),
    response: Type.Object({
      generation: Type.Object({ status: Type.Literal('generating'), builder_run_id: Type.String(), build_id: Type.String() }),
    }),
  },
  getLatestBuilderRun: { response: BuilderRun },
  acceptRevision: { body: Guard, optionalBody: true, response: Type.Object({ builder_run: ReviewedBuilderRun }) },
  declineRevision: { body: Guard, optionalBody: true, response: Type.Object({ builder_run: ReviewedBuilderRun }) },
  discardRevision: { response: Type.Object({ builder_run: ReviewedBuilderRun }) },
  getBuilderRunStatus: { response: BuilderRunProgress },
  answerBuilderRun: {
    body: Type.Object({
      /** Question text to answer. */
      answers: Type.Record(Type.String(), Type.String()),
      /** ID of the questions that are answered; the default is the current ones. */
      request_id: Type.Optional(Uuid),
    }),
    response: Type.Object({ builder_run: ReviewedBuilderRun }),
  },
} as const satisfies Record<keyof typeof revisionOperations, OperationSchemas>;
