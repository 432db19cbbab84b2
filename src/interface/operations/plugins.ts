import type { Operation } from '../operation.ts';

/** The public plugin catalogue (interface part 4.2). */
export const pluginOperations = {
  listPluginCatalog: {
    method: 'GET',
    path: '/v2/plugins/catalog',
    idempotent: false,
    success: 200,
    summary: 'List the runtimes, steps, and tools that agents can use',
  },
} as const satisfies Record<string, Operation>;
