/** Memory files of agents, which are written by runs. */
import { notFound } from '../errors.ts';
import type { GroupRoutes } from '../http/context.ts';
import { findMemoryFile, type ListedMemoryFile, listMemoryFiles } from '../store/agents/memory-files.ts';
import { requireAgent } from './shared/lookups.ts';

export const memoryRoutes: GroupRoutes<'memory'> = {
  async listAgentMemoryFiles(context, { params }) {
    const agent = await requireAgent(context, context.engine.store, params.agent_id);
    const rows = await listMemoryFiles(context.engine.store, agent.id);
    return {
      files: rows.map((row) => ({
        name: row.path.slice(row.path.lastIndexOf('/') + 1),
        path: row.path,
        updated_at: row.updated_at,
        ...provenance(row),
        size: row.size,
      })),
    };
  },

  async getAgentMemoryFile(context, { params }) {
    const agent = await requireAgent(context, context.engine.store, params.agent_id);
    const row = await findMemoryFile(context.engine.store, agent.id, params.path);
    if (row === undefined) throw notFound('memory file', params.path);
    return { path: row.path, content: row.content, ...provenance(row) };
  },
};

const provenance = (row: ListedMemoryFile) => ({
  generation: String(row.generation),
  source_type: row.source_type,
  ...(row.source_run_id === null ? {} : { source_agent_run_id: row.source_run_id }),
  ...(row.source_user_id === null ? {} : { source_user_id: row.source_user_id }),
  source_updated_at: row.updated_at,
});
