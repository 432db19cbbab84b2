/** Authorizations that a person was asked to give. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { OAuthFlowRow, OAuthFlowsTable } from '../database/schema.ts';

export async function insertFlow(db: Queries, flow: Insertable<OAuthFlowsTable>): Promise<void> {
  await db.insertInto('oauth_flows').values(flow).execute();
}

/** Removes and returns an authorization that has not expired at `now` (milliseconds), so that it can be completed only once. */
export async function takeFlow(db: Queries, stateHash: string, now: number): Promise<OAuthFlowRow | undefined> {
  return db.deleteFrom('oauth_flows').where('state_hash', '=', stateHash).where('expires_at', '>', now).returningAll().executeTakeFirst();
}

export async function forgetExpiredFlows(db: Queries, now: number): Promise<void> {
  await db.deleteFrom('oauth_flows').where('expires_at', '<=', now).execute();
}
