import type { Operation } from '../operation.ts';

/** Evaluation rubrics of agents (further groups). */
export const rubricOperations = {
  getEvalRubrics: {
    method: 'GET',
    path: '/v2/agents/{agentId}/eval-rubrics',
    idempotent: false,
    success: 200,
    summary: 'List the evaluation rubrics of an agent',
  },
  createEvalRubric: {
    method: 'POST',
    path: '/v2/agents/{agentId}/eval-rubrics',
    idempotent: true,
    success: 201,
    summary: 'Add an evaluation rubric to an agent',
  },
  replaceEvalRubrics: {
    method: 'PUT',
    path: '/v2/agents/{agentId}/eval-rubrics',
    idempotent: true,
    success: 200,
    summary: 'Replace the evaluation rubrics of an agent',
  },
  updateEvalRubric: {
    method: 'PATCH',
    path: '/v2/agents/{agentId}/eval-rubrics/{rubricId}',
    idempotent: true,
    success: 200,
    summary: 'Change an evaluation rubric',
  },
  deleteEvalRubric: {
    method: 'DELETE',
    path: '/v2/agents/{agentId}/eval-rubrics/{rubricId}',
    idempotent: true,
    success: 200,
    summary: 'Delete an evaluation rubric',
  },
} as const satisfies Record<string, Operation>;
