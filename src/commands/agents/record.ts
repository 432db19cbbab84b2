/** How an agent is displayed. */

import { time } from '../../cli/kit/output.ts';
import type { Agent } from '../../interface/types.ts';

export const agentRecord = (agent: Agent) => ({
  ID: agent.id,
  Name: agent.name,
  Team: agent.team_id,
  Memory: agent.agentic_memory_enabled ?? 'default',
  Slack: agent.slack_enabled,
  'Microsoft Teams': agent.microsoft_teams_enabled,
  Created: time(agent.created_at),
  Updated: time(agent.updated_at),
});
