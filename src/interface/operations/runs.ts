import type { Operation } from '../operation.ts';

/** Runs (interface part 4.4). */
export const runOperations = {
  listRuns: { method: 'GET', path: '/v2/teams/{teamId}/runs', idempotent: false, success: 200, summary: 'List the runs of a team' },
  startRun: { method: 'POST', path: '/v2/teams/{teamId}/runs', idempotent: true, success: 201, summary: 'Start a run of an agent' },
  getRun: { method: 'GET', path: '/v2/runs/{run_id}', idempotent: false, success: 200, summary: 'Get a run and its pending human request' },
  listRunMessages: {
    method: 'GET',
    path: '/v2/runs/{run_id}/messages',
    idempotent: false,
    success: 200,
    summary: 'List the messages of a run in order',
  },
  postRunMessage: {
    method: 'POST',
    path: '/v2/runs/{run_id}/messages',
    idempotent: true,
    success: 201,
    summary: 'Send a message to a run',
  },
  listRunHumanRequests: {
    method: 'GET',
    path: '/v2/runs/{run_id}/human-requests',
    idempotent: false,
    success: 200,
    summary: 'List the human requests of a run with their answers, oldest first',
    extension: true,
  },
  respondToHumanRequest: {
    method: 'POST',
    path: '/v2/runs/{run_id}/human-requests/{request_id}/respond',
    idempotent: true,
    success: 200,
    summary: 'Answer a human request of a run',
  },
  stopRun: { method: 'POST', path: '/v2/runs/{run_id}/stop', idempotent: true, success: 200, summary: 'Stop a run' },
  getRunDetail: {
    method: 'GET',
    path: '/v2/agent/{agentId}/runs/{runId}',
    idempotent: false,
    success: 200,
    summary: 'Get the full detail of a run',
  },
  getWorkflowExecutionReport: {
    method: 'GET',
    path: '/v2/agent/{agentId}/runs/{runId}/workflow-execution-report',
    idempotent: false,
    success: 200,
    summary: "Get the report of a run's execution",
  },
  listBrowserSessionPages: {
    method: 'GET',
    path: '/v2/browser-agent/session/{session_id}/pages',
    idempotent: false,
    success: 200,
    summary: 'List the pages of a browser session',
  },
  downloadRunFile: {
    method: 'GET',
    path: '/v2/runs/{run_id}/files/{file_id}/download',
    idempotent: false,
    success: 200,
    summary: 'Get a run file, such as a screenshot, and the URL to download it from',
  },
} as const satisfies Record<string, Operation>;
