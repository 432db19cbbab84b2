/** Schedules, as the interface returns them. */
import type { Schedule } from '../../interface/types.ts';
import type { ListedSchedule } from '../store/agents/schedules.ts';
import type { AgentRow } from '../store/database/schema.ts';
import { isoTime } from '../store/database/time.ts';

/** A schedule. Its revision is the live one, which its runs execute. The service has no users, so its user is the credential that created it. */
export const scheduleView = (row: ListedSchedule, agent: Pick<AgentRow, 'live_build_id'>): Schedule => ({
  id: row.id,
  build_id: agent.live_build_id ?? row.build_id,
  agent_id: row.agent_id,
  user_id: row.credential_id,
  enabled: row.enabled === 1,
  frequency: row.frequency as Schedule['frequency'],
  time: row.time,
  timezone: row.timezone,
  day: row.day,
  day_of_month: row.day_of_month,
  cron: row.cron,
  source: row.source,
  task: row.task,
  recurring: row.recurring === null ? null : row.recurring === 1,
  auto_disabled_at: row.auto_disabled_at,
  auto_disabled_reason: row.auto_disabled_reason,
  consecutive_missing_connection_failures: row.missing_connection_failures,
  first_missing_connection_failure_at: row.first_missing_connection_at,
  last_missing_connection_failure_at: row.last_missing_connection_at,
  created_at: row.created_at,
  updated_at: row.updated_at,
  user_name: row.user_name,
  user_email: null,
  next_run_at: row.next_at === null ? null : isoTime(Number(row.next_at)),
  last_run_at: row.last_run_at,
  last_run_id: row.last_run_id,
  last_error: row.last_error,
  consecutive_failures: row.failures,
});
