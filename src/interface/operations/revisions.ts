import type { Operation } from '../operation.ts';

/** Builder runs, which propose changes to revisions (interface part 4.7). Reading and writing revisions themselves is with the agents. */
export const revisionOperations = {
  generateRevision: {
    method: 'POST',
    path: '/v2/revisions/{build_id}/generate',
    idempotent: true,
    success: 202,
    summary: 'Start a builder run, which proposes a change to a revision',
  },
  getLatestBuilderRun: {
    method: 'GET',
    path: '/v2/revisions/{build_id}/builder-run',
    idempotent: false,
    success: 200,
    summary: 'Get the latest builder run of a revision, with its proposal',
  },
  acceptRevision: {
    method: 'POST',
    path: '/v2/revisions/{build_id}/accept',
    idempotent: true,
    success: 200,
    summary: 'Accept the proposal of a builder run: the revision is changed',
  },
  declineRevision: {
    method: 'POST',
    path: '/v2/revisions/{build_id}/decline',
    idempotent: true,
    success: 200,
    summary: 'Decline the proposal of a builder run: the revision stays unchanged',
  },
  discardRevision: {
    method: 'POST',
    path: '/v2/revisions/{build_id}/discard',
    idempotent: true,
    success: 200,
    summary: 'Discard a builder run that is running or waiting',
  },
  getBuilderRunStatus: {
    method: 'GET',
    path: '/v2/builder-runs/{builder_run_id}/status',
    idempotent: false,
    success: 200,
    summary: 'Get the progress of a builder run',
  },
  answerBuilderRun: {
    method: 'POST',
    path: '/v2/builder-runs/{builder_run_id}/answer',
    idempotent: true,
    success: 200,
    extension: true,
    summary: 'Answer the questions of a builder run, which then continues',
  },
} as const satisfies Record<string, Operation>;
