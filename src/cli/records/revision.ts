/** Shows revisions. */
import { isObject } from '../../base/values.ts';
import type { Build } from '../../interface/types.ts';
import { status, time } from '../kit/output.ts';

interface ConfigData {
  model?: string;
  models?: { agent?: { model?: string } };
  input?: string | { content: string | { type: string; text?: string }[] }[];
}

const dataOf = (config: Build['config'] | undefined): ConfigData => (config?.data ?? {}) as ConfigData;

/** The model or runtime that a configuration of any version names. */
export const runtimeOf = (config: Build['config'] | undefined): string | undefined =>
  dataOf(config).models?.agent?.model ?? dataOf(config).model;

/** The procedure as text: the texts of its messages on consecutive lines, as they are executed. */
export function procedureOf(config: Build['config']): string {
  const { input = '' } = dataOf(config);
  if (typeof input === 'string') return input;
  return input
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : content.flatMap(({ text }) => (text === undefined ? [] : [text]))))
    .join('\n');
}

export const revisionRecord = (build: Build) => ({
  ID: build.id,
  Revision: build.revision_number,
  Status: status(build.status ?? 'unknown'),
  Name: build.revision_name ?? build.name,
  Description: build.revision_description ?? undefined,
  Agent: build.agent_id,
  Runtime: runtimeOf(build.config),
  Parent: build.parent_build_id ?? undefined,
  Created: time(build.created_at),
  Updated: time(build.updated_at),
});

/** `revision 3 (draft)` */
export const revisionTitle = (build: Build): string => `revision ${build.revision_number ?? build.id} (${build.status ?? 'unknown'})`;

/** What the definition of an agent of the Agent Client Protocol runs, without values that could be confidential. */
export interface AgentProgram {
  /** Its ID in the registry, or null if a command starts it. */
  acp: string | null;
  command: string[] | null;
  mode: string | null;
  /** Names of its skills. */
  skills: string[];
  /** Names of environment variables, and of the secrets that it gets. */
  environment: string[];
  secrets: string[];
  /** Hosts that it can reach in addition to those of its model. */
  network: string[];
  /** Paths that it can read if it is contained. */
  files: string[];
}

/** Reads the definition in a configuration; undefined for other runtimes, and for what cannot be read. */
export async function agentProgram(config: Build['config'] | undefined): Promise<AgentProgram | undefined> {
  if (config === null || config === undefined || runtimeOf(config) !== 'acp') return undefined;
  const { parse } = await import('yaml');
  let definition: unknown;
  try {
    definition = parse(procedureOf(config), { logLevel: 'silent' });
  } catch {
    return undefined;
  }
  if (!isObject(definition)) return undefined;
  const { acp, command, mode, skills, environment, secrets, network, files } = definition;
  const word = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const words = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  return {
    acp: word(acp),
    command: Array.isArray(command) ? words(command) : null,
    mode: word(mode),
    skills: isObject(skills) ? Object.keys(skills) : [],
    environment: isObject(environment) ? Object.keys(environment) : [],
    secrets: words(secrets),
    network: words(network),
    files: words(files),
  };
}
