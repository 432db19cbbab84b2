import type { Operation } from '../operation.ts';

/** Teams (interface part 4.3). */
export const teamOperations = {
  listTeams: {
    extension: true,
    method: 'GET',
    path: '/v2/teams',
    idempotent: false,
    success: 200,
    summary: 'List the teams that the credential can use',
  },
  getTeam: { method: 'GET', path: '/v2/teams/{teamId}', idempotent: false, success: 200, summary: 'Get a team' },
} as const satisfies Record<string, Operation>;
