/** Starts the agent of a run: its program, its environment, and its session. */
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { InitializeResponse } from '@agentclientprotocol/sdk';
import { shellWord } from '../../../base/shell.ts';
import { firstLine } from '../../../base/values.ts';
import type { Launcher } from '../../sandbox/launch.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { RunHost } from '../run-host.ts';
import type { RunToken } from '../run-tokens.ts';
import { findProgram } from './agent-program.ts';
import type { AgentDefinition } from './definition.ts';
import { LiveAgent } from './live-agent.ts';
import type { OfferedMode } from './modes.ts';
import { type AcpOptions, defaultLimits } from './options.ts';
import { homeFolder, placeInstructions } from './place-instructions.ts';
import { AgentProblem, type ProblemCode } from './problems.ts';
import { newState, type TurnState } from './turn.ts';
import { eventIds } from './updates.ts';

/** Appended to the error if a contained agent does not start: it might need files that it cannot see. */
const visibleFiles =
  'It is contained: besides system files, it sees only the files in its command, the packages that they belong to, and the files of the run. ' +
  'If it needs other files, such as its own modules, allow them with `--allow-path FOLDER`, or start the service with `--exec host`.';

/** The problems that an agent has without a file that it needs. */
const codesOfMissingFiles: ReadonlySet<ProblemCode> = new Set(['ended', 'timed_out', 'agent_error']);

/** What a run or a check starts an agent with. */
export interface AgentRequest {
  sandbox: Sandbox;
  launcher: Launcher;
  /** The values of the secrets that the definition lists. Called when the program was found. */
  secrets(): Promise<Readonly<Record<string, string>>>;
  /** The session of an earlier process, if it should continue. */
  earlierSession: string | undefined;
  /** The access of the agent to the tools of a run. */
  tools: RunToken | undefined;
  /** Called with the first answer of the agent, before it is checked. */
  onInitialize?: (info: InitializeResponse) => void;
  /** Called with the modes that its session offers, before one of them is chosen. */
  onModes?: (modes: OfferedMode[]) => void;
  onForeignLine: (line: string) => void;
  signal: AbortSignal;
}

/** Starts the agent of a run. @throws AgentProblem, or the signal's reason */
export async function startAgent(
  host: RunHost,
  definition: AgentDefinition,
  options: AcpOptions,
): Promise<{ agent: LiveAgent; state: TurnState }> {
  const tools = options.runTokens.issue(host);
  host.redact(tools.secrets);
  const opening = openAgent(
    {
      ...{ sandbox: host.sandbox, launcher: host.launcher, signal: host.signal },
      secrets: () => secretsOf(host, definition),
      earlierSession: host.agentSession?.sessionId,
      tools,
      onForeignLine: (line) =>
        options.log('debug', 'an agent wrote a line that is not a message', { run: host.run.id, line: firstLine(line).slice(0, 200) }),
    },
    definition,
    options,
  );
  const agent = await opening.catch((error: unknown) => {
    tools.revoke();
    throw error;
  });
  return { agent, state: newState(host.agentSession?.usage ?? null) };
}

/** Starts an agent and opens its session. @throws AgentProblem, or the signal's reason */
export async function openAgent(
  { sandbox, launcher, secrets, ...request }: AgentRequest,
  definition: AgentDefinition,
  options: AcpOptions,
): Promise<LiveAgent> {
  const { clock, searchPath, limits } = options;
  const program = await findProgram(definition, options);
  const home = await sandbox.privateFolder(homeFolder);
  const temporary = path.join(home, 'tmp');
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  const secretValues = await secrets();
  const environment = {
    ...{ PATH: searchPath, HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8' },
    ...program.environment,
    ...definition.environment,
    ...secretValues,
  };
  const isContained = launcher.level === 'contained';
  const { command, readable } = isContained ? await installationOf(program.command, searchPath) : { ...program, readable: [] };
  const opening = LiveAgent.open({
    ...request,
    secrets: new Map([...Object.entries(secretValues), ...(request.tools?.secrets ?? [])]),
    instructions: await placeInstructions(sandbox, definition),
    launcher,
    launch: {
      program: command[0] as string,
      args: command.slice(1),
      environment,
      directory: sandbox.directory,
      home,
      temporary,
      readable: [...readable, ...(isContained ? await realPathsOf(definition.files) : [])],
      network: program.network,
      // Codex confines its own commands.
      nestedSandboxes: true,
    },
    mode: definition.mode,
    preferredMode: program.mode,
    authentication: program.authentication,
    clock,
    nextEventId: eventIds(),
    limits: { ...defaultLimits, ...limits },
  });
  return await opening.catch((error: unknown) => {
    throw isContained && error instanceof AgentProblem && codesOfMissingFiles.has(error.code)
      ? new AgentProblem(`${error.message}\n${visibleFiles}`, error.code)
      : error;
  });
}

/** The command of an agent with the real paths of its files, and the files and packages that it must be able to read. */
interface Installation {
  command: readonly string[];
  readable: string[];
}

/** Replaces the files in a command by their real paths, because a contained program does not see the links of the machine. */
async function installationOf(command: readonly string[], searchPath: string): Promise<Installation> {
  const [program, ...args] = command as [string, ...string[]];
  const places = path.isAbsolute(program) ? [program] : searchPath.split(path.delimiter).map((folder) => path.join(folder, program));
  const programs = (await Promise.all(places.map(realPath))).filter((file) => file !== undefined);
  const files = await Promise.all(args.map((arg) => (path.isAbsolute(arg) ? realPath(arg) : undefined)));
  const packagesOf = (file: string): string => {
    const end = file.indexOf(`${path.sep}node_modules${path.sep}`);
    return end < 0 ? file : path.join(file.slice(0, end), 'node_modules');
  };
  return {
    command: [programs[0] ?? program, ...args.map((arg, index) => files[index] ?? arg)],
    readable: [...new Set([...programs.slice(0, 1), ...files.filter((file) => file !== undefined)].map(packagesOf))],
  };
}

/** The real paths of files that the definition names. @throws AgentProblem if one does not exist */
const realPathsOf = (files: readonly string[]): Promise<string[]> =>
  Promise.all(
    files.map(async (file) => {
      const place = await realPath(file);
      if (place === undefined)
        throw new AgentProblem(`The agent needs ${file}, which does not exist on the machine of the service.`, 'file_missing');
      return place;
    }),
  );

const realPath = (place: string): Promise<string | undefined> => realpath(place).catch(() => undefined);

async function secretsOf(host: RunHost, { secrets }: AgentDefinition): Promise<Record<string, string>> {
  const values = await host.secrets(secrets);
  const missing = secrets.filter((name) => !values.has(name));
  if (missing.length > 0)
    throw new AgentProblem(
      `The agent ${host.run.agentName} has no secret ${missing.join(', ')}. Store it with \`aops agents secrets set ${shellWord(host.run.agentName)} ${missing.map((name) => `${name}=@FILE`).join(' ')}\`.`,
      'secret_missing',
    );
  return Object.fromEntries(values);
}
