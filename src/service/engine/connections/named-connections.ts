/** The connections that procedures refer to: which of them exist, and which are missing. */
import type { RevisionConfig } from '../../../interface/types.ts';
import { ServiceError } from '../../errors.ts';
import type { NamedConnection } from '../../runtimes/runtime.ts';
import { connectionsOfTeam } from '../../store/connections/connections.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ConnectionRow } from '../../store/database/schema.ts';
import type { HasRuntimes } from '../engine.ts';
import { inputText } from '../revision/procedure.ts';

/** For each revision configuration (as stored), the connections of the team that it refers to, in the order of their use. */
export async function namedConnections(
  engine: HasRuntimes,
  db: Queries,
  teamId: string,
  configs: (string | null)[],
): Promise<ConnectionRow[][]> {
  const namesByConfig = configs.map((config) => namesIn(engine, config));
  const allNames = namesByConfig.flat().map(({ name }) => name);
  const rows = allNames.length === 0 ? [] : await connectionsOfTeam(db, teamId, allNames);
  return namesByConfig.map((names) => [...new Set(names.flatMap(({ name }) => rows.filter((row) => isCalled(row, name))))]);
}

/** Throws 400 `connection_missing` if a revision needs a connection that the team does not have. */
export async function requireConnections(engine: HasRuntimes, db: Queries, teamId: string, config: string): Promise<void> {
  const neededNames = namesIn(engine, config).flatMap(({ name, needed }) => (needed ? [name] : []));
  if (neededNames.length === 0) return;
  const rows = await connectionsOfTeam(db, teamId, neededNames);
  const missingName = neededNames.find((name) => !rows.some((row) => isCalled(row, name)));
  if (missingName === undefined) return;
  throw new ServiceError(
    400,
    'connection_missing',
    `There is no connection ${missingName}, which the agent needs; add it, or promote a revision without it.`,
  );
}

const isCalled = ({ id, name }: ConnectionRow, word: string): boolean => name === word || id === word;

function namesIn({ runtimes }: HasRuntimes, config: string | null): NamedConnection[] {
  if (config === null) return [];
  const { data } = JSON.parse(config) as RevisionConfig;
  try {
    return runtimes.get(data.models.agent.model)?.connectionsOf?.(inputText(data.input)) ?? [];
  } catch (error) {
    // A procedure that cannot be read is reported when it is executed.
    if (error instanceof ServiceError) return [];
    throw error;
  }
}
