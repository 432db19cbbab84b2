import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { acpOperations } from '../operations/acp.ts';
import { RevisionConfig } from './agents.ts';
import { Named, Nullable, Uuid, Words } from './common.ts';

const texts = Type.Array(Type.String());

/** An agent of the bundled registry. */
export const RegisteredAgent = Named('RegisteredAgent', {
  /** Its ID in the public registry. */
  id: Type.String(),
  /** A shorter name that a definition can use instead of the ID. */
  alias: Nullable(Type.String()),
  name: Type.String(),
  description: Type.String(),
  website: Type.String(),
  license: Type.String(),
  /** The version that the registry describes. */
  version: Type.String(),
  /** Whether its program is installed on the machine of the service. */
  status: Words(['installed', 'not_installed', 'unsupported_platform']),
  /** Null if it is not installed, or does not say. */
  installed_version: Nullable(Type.String()),
  /** Sentences about what might prevent it from working. */
  warnings: texts,
  /** Null if its maker distributes it in another way than as an npm package, which the website describes. */
  install_command: Nullable(Type.String()),
  /** Words of Node, such as `linux-x64`. */
  platforms: texts,
  /** The environment variables that can contain its credential; one of them suffices. */
  credentials: texts,
  /** A sentence about how to sign in. */
  login: Type.String(),
  /** The hosts of its model; empty if they depend on its configuration. */
  hosts: texts,
});
export type RegisteredAgent = Static<typeof RegisteredAgent>;

/** What a turn of a check showed. Every request of the agent was denied. */
export const CheckedTurn = Named('CheckedTurn', {
  /** Whether the agent asked before it acted. */
  asked: Type.Boolean(),
  /** Whether it wrote a file. */
  wrote: Type.Boolean(),
  /** What the agent asked for, oldest first. */
  requests: Type.Array(Type.Object({ type: Words(['approval', 'question']), title: Type.String() })),
  /** The beginning of its answer. */
  text: Type.String(),
  milliseconds: Type.Integer(),
  /** As the agent reports it. */
  cost: Nullable(Type.Object({ amount: Type.Number(), currency: Type.String() })),
});
export type CheckedTurn = Static<typeof CheckedTurn>;

/** What a program reports about itself. Null stands for what it did not report before it failed. */
export const CheckedProgram = Named('CheckedProgram', {
  /** The program with its arguments; null if it was not found. */
  command: Nullable(texts),
  /** How far it is confined. */
  exec_level: Words(['contained', 'host', 'off']),
  name: Nullable(Type.String()),
  version: Nullable(Type.String()),
  /** The version of the Agent Client Protocol that it speaks. */
  protocol_version: Nullable(Type.Integer()),
  /** How long it took to start and to open a session. */
  start_milliseconds: Nullable(Type.Integer()),
  /** The mode in which its runs work; null if it has no modes. */
  mode: Nullable(Type.String()),
  /** Whether it asks before it acts in that mode, judging by the name of the mode, or by a turn. */
  asks: Nullable(Type.Boolean()),
  modes: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
  /** Whether another process can continue a session, and whether a session can be loaded again with its conversation. */
  can_resume: Nullable(Type.Boolean()),
  can_load: Nullable(Type.Boolean()),
  /** Whether it can use the tools of its run, which are an MCP server at an HTTP address. */
  can_use_tools: Nullable(Type.Boolean()),
  /** The variable with its credential, if the registry knows which it can be. */
  credential: Nullable(Type.String()),
  /** True after a turn that was answered, false if the agent refused to work, and null if only a turn would show it. */
  signed_in: Nullable(Type.Boolean()),
  /** The ways to sign in that it offers. */
  sign_in_methods: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), description: Nullable(Type.String()) })),
  /** Null unless a turn was requested. */
  turn: Nullable(CheckedTurn),
});
export type CheckedProgram = Static<typeof CheckedProgram>;

/** The result of a check. */
export const AgentCheck = Named('AgentCheck', {
  /** Whether no problem was found. */
  usable: Type.Boolean(),
  runtime: Type.String(),
  problem: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  /** Sentences about what might not work as expected. */
  warnings: texts,
  /** Null if the agent is not a program. */
  program: Nullable(CheckedProgram),
});
export type AgentCheck = Static<typeof AgentCheck>;

export const acpSchemas = {
  listAcpAgents: { response: Type.Object({ agents: Type.Array(RegisteredAgent) }) },
  checkAgent: {
    body: Type.Object({
      /** The agent whose secrets are used, and whose live revision is checked unless there is a configuration. */
      agent_id: Type.Optional(Uuid),
      config: Type.Optional(RevisionConfig),
      /** Values of secrets for this check, which are not stored. They take precedence over those of the agent. */
      secrets: Type.Optional(Type.Record(Type.String({ maxLength: 200 }), Type.String({ minLength: 1, maxLength: 65_536 }))),
      /** Whether to prompt the agent once, which can cost money. */
      turn: Type.Optional(Type.Boolean()),
    }),
    response: AgentCheck,
  },
} as const satisfies Record<keyof typeof acpOperations, OperationSchemas>;
