/** Webhook events about revisions. */

import type { AgentRow, BuildRow } from '../../store/database/schema.ts';
import { buildView } from '../../views/agents.ts';
import type { NewEvent } from './events.ts';

/** The event for a revision that went live. Its configuration can be long and is left out. */
export const publishedEvent = (agent: Pick<AgentRow, 'id' | 'name'>, row: BuildRow): NewEvent => ({
  kind: 'assignment.build.published',
  data: () => {
    const { config: _, ...build } = buildView(row, row.id);
    return { agent: { id: agent.id, name: agent.name }, build };
  },
});
