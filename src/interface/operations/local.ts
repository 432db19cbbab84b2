import type { Operation } from '../operation.ts';

const row = { extension: true } as const;

/** Who may call the local service. All but the first is for the owner of its data directory alone. */
export const localOperations = {
  getLocalCredential: {
    ...row,
    method: 'GET',
    path: '/v2/local/credential',
    idempotent: false,
    success: 200,
    summary: 'Describe the credential that asks',
  },
  createPageCode: {
    ...row,
    method: 'POST',
    path: '/v2/local/page-codes',
    idempotent: true,
    success: 201,
    summary: 'Create a code that signs a browser in to the team page, once',
  },
  listLocalTeams: { ...row, method: 'GET', path: '/v2/local/teams', idempotent: false, success: 200, summary: 'List the teams' },
  createLocalTeam: { ...row, method: 'POST', path: '/v2/local/teams', idempotent: true, success: 201, summary: 'Create a team' },
  updateLocalTeam: { ...row, method: 'PATCH', path: '/v2/local/teams/{team_id}', idempotent: true, success: 200, summary: 'Rename a team' },
  deleteLocalTeam: {
    ...row,
    method: 'DELETE',
    path: '/v2/local/teams/{team_id}',
    idempotent: true,
    success: 200,
    summary: 'Delete a team that has no agents, and revoke its credentials',
  },
  listLocalTokens: { ...row, method: 'GET', path: '/v2/local/tokens', idempotent: false, success: 200, summary: 'List tokens' },
  createLocalToken: { ...row, method: 'POST', path: '/v2/local/tokens', idempotent: true, success: 201, summary: 'Create a token' },
  revokeLocalToken: {
    ...row,
    method: 'DELETE',
    path: '/v2/local/tokens/{token_id}',
    idempotent: true,
    success: 200,
    summary: 'Revoke a token',
  },
  listLocalClients: { ...row, method: 'GET', path: '/v2/local/clients', idempotent: false, success: 200, summary: 'List OAuth clients' },
  createLocalClient: {
    ...row,
    method: 'POST',
    path: '/v2/local/clients',
    idempotent: true,
    success: 201,
    summary: 'Create an OAuth client',
  },
  revokeLocalClient: {
    ...row,
    method: 'DELETE',
    path: '/v2/local/clients/{client_id}',
    idempotent: true,
    success: 200,
    summary: 'Revoke an OAuth client and its access tokens',
  },
} as const satisfies Record<string, Operation>;
