/** Case triggers, as the interface returns them. */
import type { CaseTrigger } from '../../interface/types.ts';
import type { Trigger } from '../store/cases/case-triggers.ts';

export const triggerView = ({ row, conflicts }: Trigger): CaseTrigger => ({
  id: row.id,
  agent_id: row.agent_id,
  case_queue_id: row.queue_id,
  case_queue_name: row.queue_name,
  // Callers are credentials, not users.
  user_id: row.credential_id,
  enabled: row.enabled === 1,
  concurrency: row.concurrency,
  created_at: row.created_at,
  updated_at: row.updated_at,
  creator_display_name: row.creator_name,
  can_disable: true,
  has_conflict: conflicts.length > 0,
  conflicting_agents: conflicts,
});
