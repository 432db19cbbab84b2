/** The agent under test, as each test creates it in its own team. */
import path from 'node:path';
import { UsageError } from '../../../base/errors.ts';
import { runtimeFor } from '../../../cli/input/agent-definition.ts';
import { changedDefinition, type DefinitionChange, unchanged } from '../../../cli/input/changed-definition.ts';
import { readInstructions } from '../../../cli/input/instructions.ts';
import { explainProcedure, revisionConfig } from '../../../cli/input/procedure.ts';
import type { NamedSecret } from '../../../cli/input/secret.ts';
import type { Context } from '../../../cli/kit/context.ts';
import type { TestTeam } from './temporary-service.ts';
import { type LoadedTestFile, readAgentFile } from './test-file.ts';

/** Values for programs, which come from the command line and not from the test file. */
export interface ProgramInput {
  environment: Readonly<Record<string, string>>;
  secrets: readonly NamedSecret[];
}

export interface TestedAgent {
  readonly name: string;
  readonly runtime: 'acp' | 'script';
  readonly secrets: readonly NamedSecret[];
  /** The file that it is defined in, as shown to people, and its text. */
  readonly source: { name: string; text: string };
  /** What is added to a definition. */
  readonly change: DefinitionChange;
}

/** @throws UsageError for a file that cannot be read, or options that do not suit the agent */
export async function readTestedAgent(
  context: Context,
  file: LoadedTestFile,
  { environment, secrets }: ProgramInput,
): Promise<TestedAgent> {
  const { agent } = file;
  const source = await readAgentFile(context, file, agent.procedure);
  const runtime = await runtimeFor(source.text);
  const name = agent.name ?? path.basename(file.folder);
  if (runtime === 'script') {
    if (agent.instructions !== undefined)
      throw new UsageError(`${file.name}: ${source.name} is a procedure, and only programs have instructions.`);
    return { name, runtime, secrets: [], source, change: unchanged };
  }
  const instructions =
    agent.instructions === undefined
      ? {}
      : await readInstructions(context, path.relative(context.cwd, path.resolve(file.folder, agent.instructions)));
  const change = { ...unchanged, ...instructions, environment, secrets: secrets.map((secret) => secret.name) };
  return { name, runtime, secrets, source, change };
}

/** Creates the agent in a team and returns its ID. @throws UsageError that lists the problems of its definition with their lines */
export async function createTestedAgent(
  { id, client }: TestTeam,
  { name, runtime, source, change, secrets }: TestedAgent,
): Promise<string> {
  const definition = change === unchanged ? source.text : changedDefinition(source.text, change).text;
  const body = { name, build: { name: source.name, config: revisionConfig(definition, runtime) } };
  const { agent } = await explainProcedure(source.name, client.call('createAgent', { params: { teamId: id }, body }));
  for (const secret of secrets) await client.call('setAgentSecret', { params: { agent_id: agent.id }, body: secret });
  return agent.id;
}

/** Makes sure that an agent can be tested, before the first test. @throws UsageError as `createTestedAgent`, and for secrets that are missing */
export async function checkTestedAgent(team: TestTeam, agent: TestedAgent): Promise<void> {
  // The problems are reported with the lines of the file, so its text is checked before anything is added.
  const id = await createTestedAgent(team, { ...agent, change: unchanged, secrets: [] });
  await team.client.call('deleteAgent', { params: { agent_id: id } });
  const { parse } = await import('yaml');
  const { secrets: needed = [] } = (agent.runtime === 'acp' ? parse(agent.source.text) : {}) as { secrets?: string[] };
  const { environment, secrets } = agent.change;
  const missing = needed.filter((name) => !secrets.includes(name) && !Object.hasOwn(environment, name));
  if (missing.length === 0) return;
  throw new UsageError(
    `${agent.source.name}: the agent needs the secret ${missing.join(' and ')}.`,
    `Pass ${missing.map((name) => `--secret ${name}=@FILE`).join(' ')}.`,
  );
}
