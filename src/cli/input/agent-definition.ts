/** The options that describe an agent of the Agent Client Protocol, and the definition that they result in. */
import { UsageError } from '../../base/errors.ts';
import { shellWord, splitWords } from '../../base/shell.ts';
import { isObject } from '../../base/values.ts';
import { isVariableName, variableNameRule } from '../../base/variable-name.ts';
import { absolutePath, length } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import { text, texts } from '../kit/flags.ts';
import type { DefinitionChange } from './changed-definition.ts';
import { readInstructions } from './instructions.ts';

export const agentOptions = {
  acp: text('ID', 'Run this agent of the registry, such as claude, codex, or gemini', { check: length(1) }),
  acpCommand: text("'CMD ARGS'", 'Run the agent that this command starts; it must speak the Agent Client Protocol', { check: length(1) }),
  instructions: text('PATH|-', 'Instructions for the agent: a file such as AGENTS.md, or a folder with AGENTS.md and a folder skills', {
    complete: 'files',
  }),
  env: texts('NAME=VALUE', 'Set an environment variable of the agent that is not secret; can be repeated'),
  secret: texts('NAME=@FILE', 'Store a secret, which the agent gets as an environment variable; @- reads standard input; can be repeated', {
    complete: 'files',
  }),
  allowHost: texts('HOST', 'Let the agent reach this host in addition to those of its model; can be repeated', { check: length(1) }),
  allowPath: texts('PATH', 'Let the agent read this file or folder on the machine of the service if it is contained; can be repeated', {
    check: absolutePath,
    complete: 'files',
  }),
  mode: text('MODE', 'Mode that the agent works in (default: the one in which it asks most)', { check: length(1) }),
} as const;

export interface AgentInput {
  acp: string | undefined;
  acpCommand: string | undefined;
  instructions: string | undefined;
  env: readonly string[];
  secret: readonly string[];
  allowHost: readonly string[];
  allowPath: readonly string[];
  mode: string | undefined;
}

/** Names under which secrets are passed. */
const usuallySecret = /secret|token|password|credential|api_?key/i;

/** The flags that set something in a definition, in the order of the help. */
export function definitionFlags({ acp, acpCommand, instructions, env, secret, allowHost, allowPath, mode }: AgentInput): string[] {
  const flags = {
    '--acp': acp !== undefined,
    '--acp-command': acpCommand !== undefined,
    '--instructions': instructions !== undefined,
    '--env': env.length > 0,
    '--secret': secret.length > 0,
    '--allow-host': allowHost.length > 0,
    '--allow-path': allowPath.length > 0,
    '--mode': mode !== undefined,
  };
  return Object.entries(flags).flatMap(([flag, isPassed]) => (isPassed ? [flag] : []));
}

/**
 * Reads the options, and the files with the instructions.
 * @param secrets names of the secrets
 * @throws UsageError
 */
export async function readDefinitionChange(context: Context, input: AgentInput, secrets: readonly string[]): Promise<DefinitionChange> {
  const { acp, acpCommand, instructions, env, allowHost, allowPath, mode } = input;
  if (acp !== undefined && acpCommand !== undefined) throw new UsageError('--acp and --acp-command cannot be combined.');
  const environment = readEnvironment(context, env);
  const duplicate = secrets.find((name) => Object.hasOwn(environment, name));
  if (duplicate !== undefined) throw new UsageError(`${duplicate} cannot be set with both --env and --secret.`);
  const command = acpCommand === undefined ? undefined : { command: commandWords(acpCommand) };
  return {
    program: acp === undefined ? command : { acp },
    ...{ instructions: undefined, skills: undefined, ...(instructions === undefined ? {} : await readInstructions(context, instructions)) },
    ...{ mode, environment, secrets, network: allowHost, files: allowPath },
  };
}

/**
 * The definition of a new agent as YAML; undefined if the options describe no agent.
 * @param secrets names of the secrets
 * @param base a definition to which the options are added
 * @throws UsageError
 */
export async function agentDefinition(
  context: Context,
  input: AgentInput,
  secrets: readonly string[],
  base?: string,
): Promise<string | undefined> {
  const flags = definitionFlags(input);
  if (base === undefined && input.acp === undefined && input.acpCommand === undefined) {
    if (flags.length > 0)
      throw new UsageError(
        '--instructions, --env, --secret, --allow-host, --allow-path, and --mode need --acp or --acp-command, or a definition with --procedure.',
      );
    return undefined;
  }
  const change = await readDefinitionChange(context, input, secrets);
  // The service reports what is wrong with a text that is not a definition.
  if (base !== undefined && (flags.length === 0 || (await runtimeFor(base)) !== 'acp')) return base;
  const { changedDefinition } = await import('./changed-definition.ts');
  return changedDefinition(base, change).text;
}

/** The instructions in a definition; empty if it has none, or cannot be read. */
export async function instructionsOf(definition: string): Promise<string> {
  const { parse } = await import('yaml');
  const { instructions } = parse(definition, { logLevel: 'silent' }) as { instructions?: unknown };
  return typeof instructions === 'string' ? instructions : '';
}

/** The runtime for a file: `acp` for the definition of a program, and `script` for a procedure. */
export async function runtimeFor(text: string): Promise<'acp' | 'script'> {
  const { parse } = await import('yaml');
  try {
    const document: unknown = parse(text, { logLevel: 'silent' });
    return isObject(document) && !('steps' in document) && ('acp' in document || 'command' in document) ? 'acp' : 'script';
  } catch {
    // The service reports what is wrong with it.
    return 'script';
  }
}

/** The words of --acp-command. @throws UsageError */
export function commandWords(command: string): string[] {
  try {
    const words = splitWords(command);
    if (words.length === 0) throw new Error('is empty');
    return words;
  } catch (error) {
    throw new UsageError(
      `--acp-command ${(error as Error).message}.`,
      `It is not executed by a shell. For a shell, pass --acp-command "sh -c ${shellWord('...')}".`,
    );
  }
}

/** The variables from words such as `NAME=VALUE`. @throws UsageError */
export function readEnvironment(context: Context, words: readonly string[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const word of words) {
    const separator = word.indexOf('=');
    if (separator < 0) throw new UsageError('--env must have the form NAME=VALUE.', 'The variables of this terminal are not passed on.');
    const name = word.slice(0, separator);
    if (!isVariableName(name)) throw new UsageError(`"${name}" is not the name of an environment variable: ${variableNameRule}.`);
    if (Object.hasOwn(environment, name)) throw new UsageError(`--env ${name} appears twice.`);
    environment[name] = word.slice(separator + 1);
    if (usuallySecret.test(name))
      context.terminal.warn(`${name} is visible to everyone who can see the agent. Use --secret ${name}=@FILE for secrets.`);
  }
  return environment;
}
