/** Who may call the service: teams, tokens, and OAuth clients, managed by the owner of the data directory. */

import type { Body } from '../../interface/types.ts';
import type { Hold } from '../engine/backup/backup-hold.ts';
import { setRemindAfter } from '../engine/requests/reminders.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { GroupRoutes, HandlerInput, RequestContext } from '../http/context.ts';
import { newId } from '../ids.ts';
import { newPageCode } from '../page/sessions.ts';
import { newSecret, secretHash } from '../secret-hash.ts';
import {
  findCredential,
  insertCredential,
  insertToken,
  listCredentialRows,
  revokeCredential,
  revokeTeamCredentials,
} from '../store/access/credentials.ts';
import { findTeam, findTeamNamed, insertTeam, listTeamRows, updateTeamRow } from '../store/access/teams.ts';
import { listAgentRows } from '../store/agents/agents.ts';
import type { Queries } from '../store/database/database.ts';
import type { CredentialKind, CredentialRow, TeamRow } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';
import { credentialFields, credentialView, teamView } from '../views/credentials.ts';

type ManagedKind = Extract<CredentialKind, 'api_key' | 'oauth_client'>;

export const localRoutes: GroupRoutes<'local'> = {
  async getLocalCredential({ engine, credentialId, kind, isOwner, scopes }) {
    const row = kind === 'run' ? undefined : await findCredential(engine.store, kind, credentialId);
    // The token was revoked after the request was authenticated.
    if (row === undefined) throw notFound('credential', credentialId);
    return { credential: { ...credentialFields(row), scopes: scopes === null ? null : [...scopes], kind: row.kind, owner: isOwner } };
  },

  async createPageCode({ engine, credentialId, baseUrl }) {
    const { code, expiresAt } = await newPageCode(engine.store, credentialId, engine.clock.now());
    return { code, url: `${baseUrl}/`, expires_at: isoTime(expiresAt) };
  },

  async listLocalTeams({ engine, teamId }, { query: { limit = 20, offset = 0 } }) {
    const { rows, total } = await listTeamRows(engine.store, { limit, offset });
    return { teams: rows.map((row) => teamView(row, teamId)), total, limit, offset };
  },

  async createLocalTeam({ engine, teamId }, { body }) {
    const team = {
      id: newId(),
      created_at: isoTime(engine.clock.now()),
      deleted_at: null,
      last_removed_run: 0,
      last_request_event: 0,
      remind_after: null,
    };
    return engine.store.transaction().execute(async (trx) => {
      const row = { ...team, name: await requireFreeName(trx, body.name) };
      await insertTeam(trx, row);
      return { team: teamView(row, teamId) };
    });
  },

  async updateLocalTeam({ engine, teamId }, { params, body }) {
    const result = await engine.store.transaction().execute(async (trx) => {
      const team = await requireKnownTeam(trx, params.team_id);
      const { name, remind_after_seconds: seconds } = body;
      if (name === undefined && seconds === undefined)
        throw new ServiceError(400, 'nothing_to_change', 'The body must contain name or remind_after_seconds.');
      if (name !== undefined) await updateTeamRow(trx, team.id, { name: await requireFreeName(trx, name, team.id) });
      if (seconds !== undefined) await setRemindAfter(trx, team.id, seconds === null ? null : seconds * 1_000, engine.clock.now());
      return { team: teamView((await findTeam(trx, team.id)) as TeamRow, teamId) };
    });
    engine.worker.wake();
    return result;
  },

  async deleteLocalTeam({ engine, teamId }, { params }) {
    const now = isoTime(engine.clock.now());
    return engine.store.transaction().execute(async (trx) => {
      const team = await requireKnownTeam(trx, params.team_id);
      if (team.id === teamId) throw new ServiceError(409, 'own_team', "The owner's own team cannot be deleted.");
      const { total } = await listAgentRows(trx, { teamId: team.id, automationId: undefined, limit: 1, offset: 0 });
      if (total > 0) {
        throw new ServiceError(
          409,
          'team_not_empty',
          `The team has ${total === 1 ? 'an agent; delete it' : `${total} agents; delete them`} first.`,
        );
      }
      await revokeTeamCredentials(trx, team.id, now);
      await updateTeamRow(trx, team.id, { deleted_at: now });
      return { success: true };
    });
  },

  async listLocalTokens(context, { query }) {
    const { rows, ...page } = await listCredentials(context, 'api_key', query);
    return { tokens: rows, ...page };
  },

  async createLocalToken(context, { body }) {
    const secret = newSecret('token');
    const row = await context.engine.store.transaction().execute(async (trx) => {
      const credential = await create(context, trx, 'api_key', body);
      const { id, created_at } = credential;
      await insertToken(trx, { hash: secretHash(secret), credential_id: id, created_at, expires_at: null, scopes: null });
      return credential;
    });
    return { token: credentialView(row, context.engine.clock.now()), secret };
  },

  revokeLocalToken: (context, { params }) => revoke(context, 'api_key', params.token_id),

  async listLocalClients(context, { query }) {
    const { rows, ...page } = await listCredentials(context, 'oauth_client', query);
    return { clients: rows, ...page };
  },

  async createLocalClient(context, { body }) {
    const secret = newSecret('client_secret');
    const row = await context.engine.store.transaction().execute((trx) => create(context, trx, 'oauth_client', body, secret));
    return { client: credentialView(row, context.engine.clock.now()), secret, token_url: `${context.baseUrl}/oauth/token` };
  },

  revokeLocalClient: (context, { params }) => revoke(context, 'oauth_client', params.client_id),

  async createBackupHold({ engine }) {
    return { hold: holdView(await engine.backups.acquire()) };
  },

  async updateBackupHold({ engine }, { params, body }) {
    return { hold: holdView(await engine.backups.prolong(params.hold_id, body.holds)) };
  },

  async deleteBackupHold({ engine }, { params }) {
    await engine.backups.release(params.hold_id);
    return { success: true };
  },
};

const holdView = ({ id, createdAt, expiresAt, holds, runsWaited }: Hold) => ({
  ...{ id, holds },
  created_at: isoTime(createdAt),
  expires_at: isoTime(expiresAt),
  runs_waited: runsWaited,
});

async function create(
  { engine, teamId }: RequestContext,
  trx: Queries,
  kind: ManagedKind,
  body: Body<'createLocalToken'>,
  secret?: string,
): Promise<CredentialRow> {
  const now = engine.clock.now();
  const team = await requireKnownTeam(trx, body.team_id ?? teamId);
  return insertCredential(trx, {
    id: newId(),
    team_id: team.id,
    kind,
    name: trimName(body.name),
    created_at: isoTime(now),
    revoked_at: null,
    scopes: scopesText(body.scopes),
    secret_hash: secret === undefined ? null : secretHash(secret),
    expires_at: body.expires_in_seconds === undefined ? null : now + body.expires_in_seconds * 1_000,
  });
}

/** Checks that each scope appears once. A schema would compare every pair, so that a long list could keep the service busy. */
function scopesText(scopes: readonly string[] | undefined): string | null {
  if (scopes === undefined) return null;
  if (new Set(scopes).size === scopes.length) return scopes.join(' ');
  throw new ServiceError(400, 'invalid_request', 'scopes must not contain duplicates.', {
    details: [{ path: 'scopes', message: 'must not contain duplicates' }],
  });
}

async function listCredentials({ engine }: RequestContext, kind: ManagedKind, query: HandlerInput<'listLocalTokens'>['query']) {
  const { team_id: teamId, limit = 20, offset = 0 } = query;
  const { rows, total } = await listCredentialRows(engine.store, { kind, teamId, limit, offset });
  return { rows: rows.map((row) => credentialView(row, engine.clock.now())), total, limit, offset };
}

async function revoke({ engine }: RequestContext, kind: ManagedKind, id: string): Promise<{ success: boolean }> {
  const now = isoTime(engine.clock.now());
  const isRevoked = await engine.store.transaction().execute((trx) => revokeCredential(trx, kind, id, now));
  if (!isRevoked) throw notFound(kind === 'api_key' ? 'token' : 'client', id);
  return { success: true };
}

async function requireKnownTeam(db: Queries, id: string): Promise<TeamRow> {
  const team = await findTeam(db, id);
  if (team === undefined) throw notFound('team', id);
  return team;
}

async function requireFreeName(db: Queries, text: string, ownId?: string): Promise<string> {
  const name = trimName(text);
  const holder = await findTeamNamed(db, name);
  if (holder === undefined || holder.id === ownId) return name;
  throw new ServiceError(409, 'team_name_taken', `There is already a team named "${name}" (${holder.id}).`);
}

function trimName(name: string): string {
  if (name.trim() !== '') return name.trim();
  throw new ServiceError(400, 'invalid_request', 'name must not be empty.', { details: [{ path: 'name', message: 'must not be empty' }] });
}
