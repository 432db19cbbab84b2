import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { localOperations } from '../operations/local.ts';
import { scopes } from '../scopes.ts';
import { DateTime, Named, Nullable, paging, Uuid, Words } from './common.ts';

const Name = Type.String({ minLength: 1, maxLength: 100 });
const ScopeWord = Words([...scopes], { $id: 'Scope' });

export const LocalTeam = Named('LocalTeam', {
  id: Uuid,
  name: Type.String(),
  created_at: DateTime,
  /** Whether it is the owner's team, which cannot be deleted. */
  own: Type.Boolean(),
  /** How long a human request waits before the first reminder of it; null for no reminders. */
  remind_after_seconds: Nullable(Type.Integer()),
});
export type LocalTeam = Static<typeof LocalTeam>;

const credential = {
  id: Uuid,
  team_id: Uuid,
  name: Type.String(),
  /** Null means full access to the team. */
  scopes: Nullable(Type.Array(Type.String())),
  created_at: DateTime,
  expires_at: Nullable(DateTime),
};

/** A token or an OAuth client, whose id is its `client_id`. */
export const LocalCredential = Named('LocalCredential', { ...credential, status: Words(['active', 'expired']) });
export type LocalCredential = Static<typeof LocalCredential>;

const holds = Words(['everything', 'files']);

/** A hold, during which the data directory stays unchanged so that it can be copied. */
export const BackupHold = Named('BackupHold', {
  id: Uuid,
  /** The moment whose state the database file contains. */
  created_at: DateTime,
  /** When it ends, unless it is extended. */
  expires_at: DateTime,
  /** `everything` keeps the database file unchanged and stops runs from making progress; `files` only prevents removals. */
  holds,
  /** Whether no run made progress while everything was held; after 15 seconds they continue. */
  runs_waited: Type.Boolean(),
});
export type BackupHold = Static<typeof BackupHold>;

const newCredential = Named('NewLocalCredential', {
  name: Name,
  /** The default is the owner's team. */
  team_id: Type.Optional(Uuid),
  /** Without scopes it has full access to its team. Scopes are unique. */
  scopes: Type.Optional(Type.Array(ScopeWord, { minItems: 1 })),
  /** Up to ten years; without it, it does not expire. */
  expires_in_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 315_360_000 })),
});

const credentialQuery = Type.Object({ team_id: Type.Optional(Uuid), ...paging(100, 20) });
const page = { total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() };
const done = Type.Object({ success: Type.Boolean() });

export const localSchemas = {
  getLocalCredential: {
    response: Type.Object({
      credential: Type.Object({ ...credential, kind: Words(['local', 'api_key', 'oauth_client']), owner: Type.Boolean() }),
    }),
  },
  createPageCode: {
    /** `url` is the page, and `code` goes into its fragment: `#code=…`. */
    response: Type.Object({ code: Type.String(), url: Type.String({ format: 'uri' }), expires_at: DateTime }),
  },
  listLocalTeams: { query: Type.Object(paging(100, 20)), response: Type.Object({ teams: Type.Array(LocalTeam), ...page }) },
  createLocalTeam: { body: Type.Object({ name: Name }), response: Type.Object({ team: LocalTeam }) },
  updateLocalTeam: {
    body: Type.Object({
      name: Type.Optional(Name),
      /** Also applies to pending requests; null for no reminders. */
      remind_after_seconds: Type.Optional(Nullable(Type.Integer({ minimum: 60, maximum: 2_592_000 }))),
    }),
    response: Type.Object({ team: LocalTeam }),
  },
  deleteLocalTeam: { response: done },
  listLocalTokens: { query: credentialQuery, response: Type.Object({ tokens: Type.Array(LocalCredential), ...page }) },
  createLocalToken: {
    body: newCredential,
    /** `secret` is the token, which is returned only this time. */
    response: Type.Object({ token: LocalCredential, secret: Type.String() }),
  },
  revokeLocalToken: { response: done },
  listLocalClients: { query: credentialQuery, response: Type.Object({ clients: Type.Array(LocalCredential), ...page }) },
  createLocalClient: {
    body: newCredential,
    /** `secret` is the client secret, which is returned only this time. */
    response: Type.Object({ client: LocalCredential, secret: Type.String(), token_url: Type.String({ format: 'uri' }) }),
  },
  revokeLocalClient: { response: done },
  createBackupHold: { response: Type.Object({ hold: BackupHold }) },
  /** A hold can be reduced, but not widened again. */
  updateBackupHold: { body: Type.Object({ holds }), response: Type.Object({ hold: BackupHold }) },
  deleteBackupHold: { response: done },
} as const satisfies Record<keyof typeof localOperations, OperationSchemas>;
