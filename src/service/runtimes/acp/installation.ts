/** Finds out whether an agent of the registry is installed on this machine, and what is missing if it is not. */
import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { isProgram } from '../../../base/program.ts';
import { type AcpAgent, installHint, programOf } from './registry.ts';

/** The machine on which agents are searched for. */
export interface AgentHost {
  /** Folders to search, in the format of PATH. */
  searchPath: string;
  /** Folders with a folder `node_modules`, searched after PATH. */
  packageFolders?: readonly string[];
  /** Platform and processor architecture as Node names them: `linux`, `x64`. */
  platform: string;
  arch: string;
  /** The version of Node, such as `20.19.0`; undefined if it is unknown. */
  nodeVersion?: string;
  /** The program that executes the packages in those folders. */
  node?: string;
}

export type Installation =
  | {
      status: 'installed';
      /** The program with its arguments. */
      command: [string, ...string[]];
      /** Null if it is unknown: only packages declare a version. */
      version: string | null;
      /** Problems that might prevent it from working, as sentences. */
      warnings: string[];
    }
  /** `message` explains in sentences what is missing and how to get it. */
  | { status: 'missing'; reason: 'not_installed' | 'unsupported_platform'; message: string; warnings: string[] };

interface Package {
  version: string | null;
  /** The file of the program; undefined if the package does not contain it. */
  file: string | undefined;
  /** The range of Node versions that the package declares. */
  node: string | undefined;
}

/** Finds out whether an agent is installed, and how to start it. Damaged and unreadable files are ignored. */
export async function findInstallation(agent: AcpAgent, host: AgentHost): Promise<Installation> {
  const { npx, platforms } = agent.distribution;
  const { program, args } = programOf(agent);
  const match = (await findOnPath(agent, host)) ?? (await findPackage(agent, host));
  const range = match?.package?.node ?? npx?.node ?? undefined;
  const { nodeVersion } = host;
  const isSupported = range === undefined || nodeVersion === undefined || satisfies(nodeVersion, range);
  const warnings = isSupported ? [] : [needsNode(agent, range, nodeVersion)];
  if (match !== undefined) {
    return { status: 'installed', command: [...match.command, ...args], version: match.package?.version ?? null, warnings };
  }
  const platform = `${host.platform}-${host.arch}`;
  if (!platforms.includes(platform)) {
    const message = `${agent.name} is not available for ${platform}, only for ${platforms.join(', ')}.`;
    return { status: 'missing', reason: 'unsupported_platform', message, warnings };
  }
  const message = `${agent.name} is not installed: the program ${program} was not found on the search path. ${installHint(agent)}`;
  return { status: 'missing', reason: 'not_installed', message: [message, ...warnings].join('\n'), warnings };
}

interface ProgramMatch {
  command: [string, ...string[]];
  package: Package | undefined;
}

async function findOnPath(agent: AcpAgent, { searchPath, platform }: AgentHost): Promise<ProgramMatch | undefined> {
  const { program } = programOf(agent);
  const names = platform === 'win32' ? [`${program}.exe`, `${program}.cmd`] : [program];
  for (const folder of searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry))) {
    for (const name of names) {
      const file = path.join(folder, name);
      if (await isProgram(file)) return { command: [file], package: await packageAround(await realpath(file), agent) };
    }
  }
  return undefined;
}

async function findPackage(agent: AcpAgent, { packageFolders = [], node = 'node' }: AgentHost): Promise<ProgramMatch | undefined> {
  const { npx } = agent.distribution;
  if (npx === undefined) return undefined;
  for (const folder of packageFolders) {
    const agentPackage = await readPackage(path.join(folder, 'node_modules', npx.package), agent);
    if (agentPackage?.file === undefined) continue;
    const isScript = /\.[cm]?js$/.test(agentPackage.file);
    if (isScript || (await isProgram(agentPackage.file)))
      return { command: isScript ? [node, agentPackage.file] : [agentPackage.file], package: agentPackage };
  }
  return undefined;
}

/** The agent's package, if the file belongs to it. */
async function packageAround(file: string, agent: AcpAgent): Promise<Package | undefined> {
  for (let folder = path.dirname(file); folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const agentPackage = await readPackage(folder, agent);
    if (agentPackage !== undefined) return agentPackage;
  }
  return undefined;
}

/** The package in a folder; undefined unless it is the agent's. */
async function readPackage(folder: string, { distribution: { npx } }: AcpAgent): Promise<Package | undefined> {
  const text = await readFile(path.join(folder, 'package.json'), 'utf8').catch(() => undefined);
  const manifest = text === undefined ? undefined : parseObject(text);
  if (npx === undefined || manifest?.name !== npx.package) return undefined;
  const { version, bin, engines } = manifest as { version?: unknown; bin?: unknown; engines?: { node?: unknown } | null };
  const file = typeof bin === 'string' ? bin : (bin as Record<string, unknown> | null | undefined)?.[npx.program];
  return {
    version: typeof version === 'string' ? version : null,
    file: typeof file === 'string' ? path.join(folder, file) : undefined,
    node: typeof engines?.node === 'string' ? engines.node : undefined,
  };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const needsNode = ({ name }: AcpAgent, range: string, nodeVersion: string): string =>
  `${name} requires Node ${range}, but this is Node ${nodeVersion}.`;

/** Whether a version is in a range. Only lower bounds (`>=20.19.0`) are considered, because packages declare nothing else in practice. */
function satisfies(version: string, range: string): boolean {
  return range.split('||').some((alternative) => {
    const [, bound] = />=\s*([\d.]+)/.exec(alternative) ?? [];
    return bound === undefined || compare(version, bound) >= 0;
  });
}

function compare(version: string, bound: string): number {
  const [left, right] = [version, bound].map((each) => each.split('.').map(Number)) as [number[], number[]];
  const index = right.findIndex((part, position) => part !== (left[position] ?? 0));
  return index < 0 ? 0 : (left[index] ?? 0) - (right[index] as number);
}
