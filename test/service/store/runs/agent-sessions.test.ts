/** The sessions of agents are read as they were stored. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { AgentSession } from '../../../../src/service/runtimes/run-host.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { findAgentSession, storeAgentSession } from '../../../../src/service/store/runs/agent-sessions.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

const session: AgentSession = { name: 'agent', version: '1', mode: 'ask', asks: true, sessionId: 's', promptedMessages: 2, usage: null };

it.each<[string, AgentSession]>([
  ['everything', { ...session, usage: { contextTokens: 10, contextSize: 100, cost: { amount: 0.5, currency: 'USD' } } }],
  ['no usage', session],
  ['an agent that does not ask', { ...session, asks: false }],
  ['an agent without modes, which does not say whether it asks', { ...session, mode: null, asks: null }],
])('with %s', async (_, stored) => {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  await sql`pragma foreign_keys = off`.execute(db);
  expect(await findAgentSession(db, 'r')).toBeUndefined();
  await storeAgentSession(db, 'r', { ...session, name: 'earlier', usage: { contextTokens: 1, contextSize: 2, cost: null } }, '');
  await storeAgentSession(db, 'r', stored, '');
  expect(await findAgentSession(db, 'r')).toEqual(stored);
});
