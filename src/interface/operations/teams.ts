import type { Operation } from '../operation.ts';

/** Teams (interface part 4.3). */
export const teamOperations = {
  getTeam: { method: 'GET', path: '/v2/teams/{teamId}', idempotent: false, success: 200, summary: 'Get a team' },
} as const satisfies Record<string, Operation>;
