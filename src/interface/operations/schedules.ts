import type { Operation } from '../operation.ts';

/** Schedules of agents (further groups). */
export const scheduleOperations = {
  listAgentSchedules: {
    method: 'GET',
    path: '/v2/agents/{agent_id}/schedules',
    idempotent: false,
    success: 200,
    summary: 'List the schedules of an agent',
  },
  createSchedule: {
    method: 'POST',
    path: '/v2/agents/{agent_id}/schedules',
    idempotent: true,
    success: 200,
    summary: 'Create a schedule for runs of an agent',
  },
  updateSchedule: {
    method: 'PATCH',
    path: '/v2/agents/{agent_id}/schedules/{schedule_id}',
    idempotent: true,
    success: 200,
    summary: 'Change, enable, or disable a schedule',
  },
  deleteSchedule: {
    method: 'DELETE',
    path: '/v2/agents/{agent_id}/schedules/{schedule_id}',
    idempotent: true,
    success: 200,
    summary: 'Delete a schedule',
  },
} as const satisfies Record<string, Operation>;
