/** Starts the agent of a run: its program, its environment, and its session. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { firstLine } from '../../../base/values.ts';
import type { RunHost } from '../runtime.ts';
import type { AcpOptions } from './acp-runtime.ts';
import type { AgentDefinition } from './definition.ts';
import { LiveAgent } from './live-agent.ts';
import { AgentProblem } from './problems.ts';
import { newState, type TurnState } from './turn.ts';
import { eventIds } from './updates.ts';

/** Starts an agent and opens its session. @throws AgentProblem, or the signal's reason */
export async function startAgent(
  host: RunHost,
  definition: AgentDefinition,
  { clock, log, searchPath }: AcpOptions,
): Promise<{ agent: LiveAgent; state: TurnState }> {
  if (host.exec === 'off')
    throw new AgentProblem('This service does not execute commands, and an agent is a command. Start it with `--exec host` to allow them.');
  const program = programOf(definition);
  const home = await host.sandbox.privateFolder('home');
  const temporary = path.join(home, 'tmp');
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  const env = {
    ...{ PATH: searchPath, HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8' },
    ...program.environment,
    ...definition.environment,
    ...(await secretsOf(host, definition)),
  };
  const agent = await LiveAgent.open({
    command: { command: program.command, directory: host.sandbox.directory, env },
    earlierSession: host.agentSession?.sessionId,
    mode: definition.mode ?? program.mode,
    authentication: program.authentication,
    servers: [],
    clock,
    nextEventId: eventIds(),
    onForeignLine: (line) => log('debug', 'an agent wrote a line that is not a message', { run: host.run.id, line: firstLine(line).slice(0, 200) }),
    signal: host.signal,
  });
  return { agent, state: newState(host.agentSession?.usage ?? null) };
}

interface Program {
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  mode: string | undefined;
  authentication: string | undefined;
}

function programOf({ acp, command }: AgentDefinition): Program {
  if (command !== undefined) return { command, environment: {}, mode: undefined, authentication: undefined };
  throw new AgentProblem(`The agent "${acp}" is not in the registry.`);
}

async function secretsOf(host: RunHost, { secrets }: AgentDefinition): Promise<Record<string, string>> {
  const values = await host.secrets(secrets);
  const missing = secrets.filter((name) => !values.has(name));
  if (missing.length > 0)
    throw new AgentProblem(
      `The agent ${host.run.agentName} has no secret ${missing.join(', ')}. Store it with \`aops agents update "${host.run.agentName}" --secret NAME=@FILE\`.`,
    );
  return Object.fromEntries(values);
}
