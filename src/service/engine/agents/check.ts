/** Checks whether an agent works on this machine, without a run. */
import type { AgentCheck, Body, RevisionConfig } from '../../../interface/types.ts';
import { ServiceError } from '../../errors.ts';
import type { Queries } from '../../store/database/database.ts';
import { requireConnections } from '../connections/named-connections.ts';
import type { HasConnections, HasRunPolicy, HasRuntimes, HasSandboxes, HasStore } from '../engine.ts';
import { procedureOf } from '../revision/procedure.ts';
import { agentSecrets } from '../revision/secrets.ts';

type CheckEngine = HasStore & HasRuntimes & HasSandboxes & HasRunPolicy & HasConnections;

export interface CheckOptions {
  teamId: string;
  /** The agent whose secrets are used, if any. */
  agentId: string | undefined;
  config: RevisionConfig;
  /** Values that take precedence over those of the agent. */
  secrets: NonNullable<Body<'checkAgent'>['secrets']>;
  turn: boolean;
  signal: AbortSignal;
}

/** Checks a configuration. Throws 400 `unknown_runtime`, or 400 `invalid_procedure` with the invalid lines. */
export async function checkAgent(engine: CheckEngine, options: CheckOptions): Promise<AgentCheck> {
  const { teamId, agentId, config, turn, signal } = options;
  const { runtime, text } = procedureOf(engine.runtimes, config);
  const missing = await missingConnection(engine, engine.store, teamId, config);
  if (missing !== undefined || runtime.check === undefined)
    return { usable: missing === undefined, runtime: runtime.name, problem: missing ?? null, warnings: [], program: null };
  const result = await runtime.check({
    procedure: text,
    inSandbox: (work) => engine.sandboxes.inTemporary(work),
    launcher: engine.containment,
    async secrets(names) {
      const storedSecrets = agentId === undefined ? new Map<string, string>() : await agentSecrets(engine, agentId, names);
      const specifiedSecrets = Object.entries(options.secrets).filter(([name]) => names.includes(name));
      return new Map([...storedSecrets, ...specifiedSecrets]);
    },
    ...{ turn, signal },
  });
  return { usable: result.problem === null, runtime: runtime.name, ...result };
}

/** The connection that every run would fail without, as the start of a run reports it. */
async function missingConnection(
  engine: HasRuntimes,
  db: Queries,
  teamId: string,
  config: RevisionConfig,
): Promise<AgentCheck['problem'] | undefined> {
  try {
    await requireConnections(engine, db, teamId, JSON.stringify(config));
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError && error.error === 'connection_missing') return { code: error.error, message: error.message };
    throw error;
  }
}
