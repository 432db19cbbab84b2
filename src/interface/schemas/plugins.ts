import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { pluginOperations } from '../operations/plugins.ts';
import { Named } from './common.ts';

/** Something that agents can be built with. */
export const Plugin = Named('Plugin', { name: Type.String(), type: Type.String(), description: Type.String() });
export type Plugin = Static<typeof Plugin>;

export const pluginSchemas = {
  listPluginCatalog: { response: Type.Object({ plugins: Type.Array(Plugin) }) },
} as const satisfies Record<keyof typeof pluginOperations, OperationSchemas>;
