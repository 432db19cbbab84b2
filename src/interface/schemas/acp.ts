import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { acpOperations } from '../operations/acp.ts';
import { Named, Nullable, Words } from './common.ts';

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

export const acpSchemas = {
  listAcpAgents: { response: Type.Object({ agents: Type.Array(RegisteredAgent) }) },
} as const satisfies Record<keyof typeof acpOperations, OperationSchemas>;
