/** The bundled snapshot of the public registry of agents that speak the Agent Client Protocol, which lists them and how to start each. */
import Type, { type Static } from 'typebox';
import { nearest } from '../../../base/nearest.ts';
import { Compile } from '../../../interface/validator.ts';
import { ServiceError } from '../../errors.ts';
import snapshot from './registry.json' with { type: 'json' };

const names = Type.Array(Type.String({ minLength: 1 }));
const variables = Type.Record(Type.String({ pattern: '^[A-Z][A-Z0-9_]*$' }), Type.String());
const strict = { additionalProperties: false };

/** A program on the search path, with the arguments that make it speak the protocol on its standard input and output. */
const program = { program: Type.String({ minLength: 1 }), args: names };

const Distribution = Type.Object(
  {
    /** A package on npm that contains the program. `node` is the range of versions of Node that it declares. */
    npx: Type.Optional(Type.Object({ package: Type.String(), ...program, node: Type.Union([Type.String(), Type.Null()]) }, strict)),
    /** A program that its maker distributes in another way. */
    binary: Type.Optional(Type.Object(program, strict)),
    /** As Node names them, such as `linux-x64`. */
    platforms: names,
  },
  strict,
);

const Entry = Type.Object(
  {
    /** The ID in the public registry. */
    id: Type.String({ pattern: '^[a-z][a-z0-9-]*$' }),
    /** A shorter name for the same agent. */
    alias: Type.Union([Type.String({ pattern: '^[a-z][a-z0-9-]*$' }), Type.Null()]),
    name: Type.String({ minLength: 1 }),
    version: Type.String({ minLength: 1 }),
    description: Type.String(),
    website: Type.String({ format: 'uri' }),
    license: Type.String(),
    distribution: Distribution,
    /** The environment variables that can contain its credentials; one of them suffices. */
    credentials: names,
    /** A sentence about how to sign in. */
    login: Type.String(),
    /** The authentication method to select before the first session, if that is necessary. */
    authentication: Type.Union([Type.String(), Type.Null()]),
    /** Variables that are always set for it. */
    environment: variables,
    /** The hosts that it needs to reach its model; empty if they are unknown or depend on its configuration. */
    hosts: names,
    /** What makes it ask for permissions as often as possible: a session mode or variables. Null if that is unknown. */
    asking: Type.Union([Type.Object({ mode: Type.String() }, strict), Type.Object({ environment: variables }, strict), Type.Null()]),
    /**
     * Where in its HOME it reads instructions and skills for all projects, in addition to those of a project: a file, and a folder with
     * a folder for each skill. They are elsewhere if one of the variables `movedBy` is set. `projectFile` is the
     * file that it reads in a project. Null if it is unknown whether it reads them.
     */
    instructions: Type.Union([
      Type.Object(
        { file: Type.String({ minLength: 1 }), skills: Type.String({ minLength: 1 }), movedBy: names, projectFile: Type.String() },
        strict,
      ),
      Type.Null(),
    ]),
    /** The features that were verified with this version. */
    verified: Type.Array(Type.Enum(['start', 'instructions', 'permission', 'rejection', 'asking', 'authentication', 'resume', 'load'])),
  },
  strict,
);

const Registry = Type.Object(
  { about: Type.String(), date: Type.String({ format: 'date' }), source: Type.String({ format: 'uri' }), agents: Type.Array(Entry) },
  strict,
);

const validator = Compile(Registry);

export type AcpAgent = Static<typeof Entry>;
export type AcpRegistry = Static<typeof Registry>;

/** Throws an Error about the first problem: an invalid property, an agent without exactly one distribution, or a name that appears twice. */
export function readRegistry(value: unknown): AcpRegistry {
  const [problem] = validator.Errors(value);
  if (problem !== undefined) throw new Error(`The registry of agents is invalid: ${problem.instancePath || '/'} ${problem.message}.`);
  const registry = value as AcpRegistry;
  const seenNames = new Set<string>();
  for (const { id, alias, distribution } of registry.agents) {
    for (const name of alias === null ? [id] : [id, alias]) {
      if (seenNames.has(name)) throw new Error(`The registry of agents is invalid: ${name} appears twice.`);
      seenNames.add(name);
    }
    if ((distribution.npx === undefined) === (distribution.binary === undefined)) {
      throw new Error(`The registry of agents is invalid: ${id} must have either an npm package or a binary.`);
    }
  }
  return registry;
}

let registry: AcpRegistry | undefined;

/** The bundled snapshot. */
export function acpRegistry(): AcpRegistry {
  registry ??= readRegistry(snapshot);
  return registry;
}

/** The agent with this ID or alias; undefined if the snapshot does not contain it. */
export const findAcpAgent = (name: string): AcpAgent | undefined =>
  acpRegistry().agents.find(({ id, alias }) => id === name || alias === name);

/** The names of all agents in the snapshot: IDs and aliases. */
export const registeredNames = (): string[] => acpRegistry().agents.flatMap(({ id, alias }) => (alias === null ? [id] : [alias, id]));

/** The agent with this ID or alias. Throws ServiceError 400 `acp_agent_not_found`, which suggests the nearest name. */
export function acpAgent(name: string): AcpAgent {
  const agent = findAcpAgent(name);
  if (agent !== undefined) return agent;
  const guess = nearest(name, registeredNames());
  const suggestion = guess === undefined ? '' : ` Did you mean ${guess}?`;
  throw new ServiceError(
    400,
    'acp_agent_not_found',
    `The registry contains no agent ${name}.${suggestion} It contains ${registeredNames().join(', ')}; specify the command of any other agent.`,
  );
}

/** The program of an agent with its arguments. */
export const programOf = ({ distribution: { npx, binary } }: AcpAgent): { program: string; args: string[] } =>
  (npx ?? binary) as { program: string; args: string[] };

/** The command that installs it; null if it is not an npm package. */
export const installCommand = ({ distribution: { npx }, version }: AcpAgent): string | null =>
  npx === undefined ? null : `npm install --global ${npx.package}@${version}`;

/** How to install it: a command, or the page with instructions. */
export function installHint(agent: AcpAgent): string {
  const command = installCommand(agent);
  return command === null ? `Install ${agent.name} as described at ${agent.website}.` : `Install it with: ${command}`;
}
