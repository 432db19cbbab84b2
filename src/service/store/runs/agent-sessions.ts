/** The sessions of the agents of runs. */
import type { AgentSession, AgentUsage } from '../../runtimes/run-host.ts';
import type { Queries } from '../database/database.ts';

/** The session of a run's agent, if it has one. */
export async function findAgentSession(db: Queries, runId: string): Promise<AgentSession | undefined> {
  const row = await db.selectFrom('agent_sessions').selectAll().where('run_id', '=', runId).executeTakeFirst();
  return (
    row && {
      name: row.name,
      version: row.version,
      mode: row.mode,
      asks: row.asks === null ? null : row.asks === 1,
      sessionId: row.session_id,
      promptedMessages: row.prompted_messages,
      usage: row.usage === null ? null : (JSON.parse(row.usage) as AgentUsage),
    }
  );
}

/** Stores the session of a run's agent in place of an earlier one. */
export async function storeAgentSession(trx: Queries, runId: string, session: AgentSession, now: string): Promise<void> {
  const columns = {
    name: session.name,
    version: session.version,
    mode: session.mode,
    asks: session.asks === null ? null : session.asks ? (1 as const) : (0 as const),
    session_id: session.sessionId,
    prompted_messages: session.promptedMessages,
    usage: session.usage === null ? null : JSON.stringify(session.usage),
    updated_at: now,
  };
  await trx
    .insertInto('agent_sessions')
    .values({ run_id: runId, ...columns })
    .onConflict((conflict) => conflict.column('run_id').doUpdateSet(columns))
    .execute();
}
