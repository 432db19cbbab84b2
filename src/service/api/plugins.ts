/** The plugin catalogue: the runtimes of this service, and what each of them can do. */
import type { GroupRoutes } from '../http/context.ts';

export const pluginRoutes: GroupRoutes<'plugins'> = {
  async listPluginCatalog({ engine }) {
    const plugins = [...engine.runtimes.values()].flatMap(({ name, description = '', parts = [] }) => [
      { name, type: 'runtime', description },
      ...parts
        .filter(({ needsExec }) => !needsExec || engine.containment.level !== 'off')
        .map((part) => ({
          name: `${name}.${part.name}`,
          type: part.type,
          description: part.description,
        })),
    ]);
    return { plugins };
  },
};
