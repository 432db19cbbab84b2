/** Starts the agent of a run: its program, its environment, and its session. */
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { shellWord } from '../../../base/shell.ts';
import { firstLine } from '../../../base/values.ts';
import type { RunHost } from '../runtime.ts';
import { findProgram } from './agent-program.ts';
import type { AgentDefinition } from './definition.ts';
import { LiveAgent } from './live-agent.ts';
import { type AcpOptions, defaultLimits } from './options.ts';
import { AgentProblem } from './problems.ts';
import { newState, type TurnState } from './turn.ts';
import { eventIds } from './updates.ts';

/** Starts an agent and opens its session. @throws AgentProblem, or the signal's reason */
export async function startAgent(
  host: RunHost,
  definition: AgentDefinition,
  { clock, log, searchPath, limits }: AcpOptions,
): Promise<{ agent: LiveAgent; state: TurnState }> {
  const program = await findProgram(definition, searchPath);
  const home = await host.sandbox.privateFolder('home');
  const temporary = path.join(home, 'tmp');
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  const environment = {
    ...{ PATH: searchPath, HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8' },
    ...program.environment,
    ...definition.environment,
    ...(await secretsOf(host, definition)),
  };
  const agent = await LiveAgent.open({
    launcher: host.launcher,
    launch: {
      program: program.command[0] as string,
      args: program.command.slice(1),
      environment,
      directory: host.sandbox.directory,
      home,
      temporary,
      readable: await installationOf(program.command, searchPath),
      network: program.network,
    },
    earlierSession: host.agentSession?.sessionId,
    mode: definition.mode ?? program.mode,
    authentication: program.authentication,
    servers: [],
    clock,
    nextEventId: eventIds(),
    onForeignLine: (line) =>
      log('debug', 'an agent wrote a line that is not a message', { run: host.run.id, line: firstLine(line).slice(0, 200) }),
    signal: host.signal,
    limits: { ...defaultLimits, ...limits },
  });
  return { agent, state: newState(host.agentSession?.usage ?? null) };
}

/** The files that an agent needs from the machine: its program and the files in its arguments, with the packages that they belong to. */
async function installationOf(command: readonly string[], searchPath: string): Promise<string[]> {
  const [program, ...args] = command as [string, ...string[]];
  const places = path.isAbsolute(program) ? [program] : searchPath.split(path.delimiter).map((folder) => path.join(folder, program));
  const found: string[] = [];
  for (const place of [...places, ...args.filter((arg) => path.isAbsolute(arg))]) {
    const real = await realpath(place).catch(() => undefined);
    if (real === undefined) continue;
    const packages = real.indexOf(`${path.sep}node_modules${path.sep}`);
    found.push(packages < 0 ? real : path.join(real.slice(0, packages), 'node_modules'));
  }
  return [...new Set(found)];
}

async function secretsOf(host: RunHost, { secrets }: AgentDefinition): Promise<Record<string, string>> {
  const values = await host.secrets(secrets);
  const missing = secrets.filter((name) => !values.has(name));
  if (missing.length > 0)
    throw new AgentProblem(
      `The agent ${host.run.agentName} has no secret ${missing.join(', ')}. Store it with \`aops agents secrets set ${shellWord(host.run.agentName)} ${missing.map((name) => `${name}=@FILE`).join(' ')}\`.`,
    );
  return Object.fromEntries(values);
}
