/**
 * The definition of an agent that speaks the Agent Client Protocol: the document in each of its revisions (docs/acp.md). It
 * specifies how the agent is started and what it works with.
 */
import nodePath from 'node:path';
import Type, { type Static } from 'typebox';
import { parseDuration } from '../../../base/duration.ts';
import { nearest } from '../../../base/nearest.ts';
import { isObject } from '../../../base/values.ts';
import { isVariableName, variableNameRule } from '../../../base/variable-name.ts';
import { Closed } from '../../../interface/schemas/common.ts';
import { type Finding, structureCheck } from '../document/findings.ts';
import { durationPattern } from '../document/patterns.ts';
import { invalidProcedure, type Problem } from '../document/problems.ts';
import { readSource, type Source } from '../document/source.ts';
import { findAcpAgent, registeredNames } from './registry.ts';
import { type Skills, skillFindings } from './skills.ts';

/** The size of the largest definition, in bytes. Most of a definition is instructions. */
const maxDefinitionSize = 1024 * 1024;
/** The default and the maximum time for a turn, in milliseconds. The time that a person takes to answer does not count. */
const defaultTimeout = 3_600_000;
const maxTimeout = 86_400_000;

const Text = Type.String({ minLength: 1 });

const Definition = Closed({
  version: Type.Literal(1),
  description: Type.Optional(Type.String()),
  acp: Type.Optional(Text),
  command: Type.Optional(Type.Array(Text, { minItems: 1 })),
  instructions: Type.Optional(Type.String()),
  skills: Type.Optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.String()))),
  mode: Type.Optional(Text),
  environment: Type.Optional(Type.Record(Type.String(), Type.String())),
  secrets: Type.Optional(Type.Array(Text)),
  network: Type.Optional(Type.Array(Text)),
  files: Type.Optional(Type.Array(Text)),
  timeout: Type.Optional(Type.String({ pattern: durationPattern })),
});

export interface AgentDefinition {
  /** ID of an agent in the registry; undefined if `command` starts it. */
  acp: string | undefined;
  /** The program and its arguments. */
  command: readonly string[] | undefined;
  /** The agent's task in prose, as in AGENTS.md. */
  instructions: string | undefined;
  skills: Skills;
  /** The mode to switch to, instead of the strictest one. */
  mode: string | undefined;
  environment: Readonly<Record<string, string>>;
  /** Names of the agent's secrets that it gets as environment variables. */
  secrets: readonly string[];
  /** Hosts that the agent can reach, besides those of its model. */
  network: readonly string[];
  /** Absolute paths of files and folders that the agent can read if it is contained, besides its program and the files of the run. */
  files: readonly string[];
  /** The time limit of a turn, in milliseconds. */
  timeout: number;
}

const findProblems = structureCheck({ schema: Definition, label: 'the definition' });

/**
 * Parses a definition. Throws a ServiceError 400 `invalid_procedure` whose details contain every problem with its line and column.
 * @param turnTimeout milliseconds for a turn if the definition sets none
 */
export function parseDefinition(text: string, turnTimeout = defaultTimeout): AgentDefinition {
  if (Buffer.byteLength(text) > maxDefinitionSize)
    throw invalidProcedure([{ message: `the definition is longer than ${maxDefinitionSize} bytes`, line: 1, column: 1 }]);
  const source = readSource(text);
  if (source.problems.length > 0) throw invalidProcedure(source.problems);
  if (!isObject(source.value)) {
    const message = 'the definition of an agent must be a YAML mapping with `version: 1` and `acp` or `command`';
    throw invalidProcedure([{ message, line: 1, column: 1 }]);
  }
  const findings = findProblems(source.value);
  const definition = source.value as Static<typeof Definition>;
  if (findings.length === 0) findings.push(...ruleFindings(definition));
  if (findings.length > 0) throw invalidProcedure(findings.map((finding) => problemAt(source, finding)));
  return {
    acp: definition.acp,
    command: definition.command,
    instructions: definition.instructions,
    skills: definition.skills ?? {},
    mode: definition.mode,
    environment: definition.environment ?? {},
    secrets: definition.secrets ?? [],
    network: definition.network ?? [],
    files: definition.files ?? [],
    timeout: definition.timeout === undefined ? turnTimeout : (parseDuration(definition.timeout) ?? turnTimeout),
  };
}

/** Violations of rules that the schema cannot express. */
function ruleFindings({
  version,
  acp,
  command,
  environment = {},
  secrets = [],
  files = [],
  timeout,
  skills = {},
}: Static<typeof Definition>): Finding[] {
  const findings: Finding[] = skillFindings(skills);
  // The structure check does not compare constants.
  if (version !== 1) findings.push({ message: '`version` must be 1', path: ['version'] });
  if (acp === undefined && command === undefined) {
    findings.push({
      message: 'the definition needs `acp` (an agent of the registry) or `command` (a program and its arguments)',
      path: [],
    });
  }
  if (acp !== undefined && findAcpAgent(acp) === undefined) findings.push({ message: unknownAgent(acp), path: ['acp'] });
  if (acp !== undefined && command !== undefined)
    findings.push({ message: '`acp` and `command` exclude each other; leave one of them out', path: ['command'], onKey: true });
  const nameRule = `is not the name of an environment variable: ${variableNameRule}`;
  for (const name of Object.keys(environment))
    if (!isVariableName(name)) findings.push({ message: `\`${name}\` ${nameRule}`, path: ['environment', name], onKey: true });
  for (const [index, name] of secrets.entries()) {
    const path = ['secrets', index];
    if (!isVariableName(name)) findings.push({ message: `\`${name}\` ${nameRule}`, path });
    else if (secrets.indexOf(name) < index) findings.push({ message: `\`${name}\` appears twice`, path });
    else if (Object.hasOwn(environment, name)) findings.push({ message: `\`${name}\` also appears in \`environment\``, path });
  }
  for (const [index, file] of files.entries())
    if (!nodePath.isAbsolute(file)) findings.push({ message: `\`${file}\` is not an absolute path`, path: ['files', index] });
  const milliseconds = timeout === undefined ? undefined : parseDuration(timeout);
  if (milliseconds !== undefined && (milliseconds === 0 || milliseconds > maxTimeout))
    findings.push({ message: '`timeout` must be more than 0 and at most 24h', path: ['timeout'] });
  return findings;
}

function unknownAgent(name: string): string {
  const suggestion = nearest(name, registeredNames());
  const names = suggestion === undefined ? registeredNames().join(', ') : `did you mean ${suggestion}?`;
  return `the registry contains no agent \`${name}\`: ${names}`;
}

function problemAt(source: Source, { message, path, onKey }: Finding): Problem {
  const { line, column } = onKey ? source.keyAt(path) : source.locate(path);
  return { message, line, column };
}
