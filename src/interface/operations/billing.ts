import type { Operation } from '../operation.ts';

/** What a team's plan allows, and what has been used of it (interface part 4.6). */
export const billingOperations = {
  getTeamUsage: {
    method: 'GET',
    path: '/v2/teams/{teamId}/billing/usage',
    idempotent: false,
    success: 200,
    summary: 'Get the usage of a team in this period',
  },
  getTeamEntitlements: {
    method: 'GET',
    path: '/v2/teams/{teamId}/billing/entitlements',
    idempotent: false,
    success: 200,
    summary: 'Get the plan of a team',
  },
} as const satisfies Record<string, Operation>;
