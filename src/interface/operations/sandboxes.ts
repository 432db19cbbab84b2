import type { Operation } from '../operation.ts';

/** Sandboxes that stage files for a run (further groups), and a run's own sandbox files and screenshots (part 4.5). */
export const sandboxOperations = {
  createSandbox: { method: 'POST', path: '/v2/sandboxes', idempotent: true, success: 201, summary: 'Create a sandbox for uploads' },
  listSandboxFiles: {
    method: 'GET',
    path: '/v2/sandboxes/{sandbox_id}/files',
    idempotent: false,
    success: 200,
    summary: 'List the files of a sandbox',
  },
  uploadSandboxFile: {
    method: 'POST',
    path: '/v2/sandboxes/{sandbox_id}/files',
    idempotent: true,
    success: 201,
    summary: 'Upload a file of up to 10 MB to a sandbox',
    request: 'multipart/form-data',
  },
  createSandboxUploadUrl: {
    method: 'POST',
    path: '/v2/sandboxes/{sandbox_id}/upload-urls',
    idempotent: true,
    success: 200,
    summary: 'Get a URL to which a file of any size can be uploaded with PUT',
  },
  listAgentRunSandboxFiles: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/runs/{run_id}/sandbox/files',
    idempotent: false,
    success: 200,
    summary: "List a directory of a run's sandbox, by agent and run",
  },
  listRunSandboxFiles: {
    method: 'GET',
    path: '/v2/runs/{run_id}/sandbox/files',
    idempotent: false,
    success: 200,
    summary: "List a directory of a run's sandbox",
  },
  getAgentRunSandboxFileContent: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/runs/{run_id}/sandbox/files/content',
    idempotent: false,
    success: 200,
    summary: "Read a file of a run's sandbox, by agent and run",
  },
  getRunSandboxFileContent: {
    method: 'GET',
    path: '/v2/runs/{run_id}/sandbox/files/content',
    idempotent: false,
    success: 200,
    summary: "Read a file of a run's sandbox",
  },
  getRunChanges: {
    method: 'GET',
    path: '/v2/runs/{run_id}/sandbox/changes',
    idempotent: false,
    success: 200,
    summary: 'List what a run changed in its repository, with the URL of a patch',
    extension: true,
  },
  getRunScreenshotTimeline: {
    method: 'GET',
    path: '/v2/agent-runs/{run_id}/screenshots/timeline',
    idempotent: false,
    success: 200,
    summary: 'Get the screenshots of a run in order',
  },
  getAgentRunScreenshotTimeline: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/runs/{run_id}/screenshots/timeline',
    idempotent: false,
    success: 200,
    summary: 'Get the screenshots of a run in order, by agent and run',
  },
} as const satisfies Record<string, Operation>;
