/** Records that browsers are to be notified of a human request. */
import type { Clock } from '../../../base/clock.ts';
import type { Queries } from '../../store/database/database.ts';
import { nudgeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { insertPushMessage, pushSubscriptionsOfTeam } from '../../store/push/push.ts';

/**
 * Records a push for each subscription of the team, in the transaction that creates the request or reminds of it. If it returns true,
 * there is something to send: wake the worker after the commit.
 */
export async function recordPushes(clock: Clock, trx: Queries, teamId: string, requestId: string): Promise<boolean> {
  const now = clock.now();
  const subscriptionIds = await pushSubscriptionsOfTeam(trx, teamId, now);
  for (const subscriptionId of subscriptionIds.sort()) {
    await insertPushMessage(trx, { subscription_id: subscriptionId, request_id: requestId, tries: 0, due_at: now });
    await nudgeJob(trx, { kind: jobKinds.push, subjectId: subscriptionId, dueAt: now });
  }
  return subscriptionIds.length > 0;
}
