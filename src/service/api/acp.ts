/** Agents that are programs. */
import type { GroupRoutes } from '../http/context.ts';

export const acpRoutes: GroupRoutes<'acp'> = {
  async listAcpAgents({ engine }) {
    const lists = await Promise.all([...engine.runtimes.values()].map(async (runtime) => (await runtime.programs?.()) ?? []));
    return { agents: lists.flat() };
  },
};
