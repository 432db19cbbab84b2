/** The body of a delivery in the format of its webhook. Pure. */
import { isObject, jsonValue } from '../../../../base/values.ts';
import type { WebhookFormat } from '../../../../interface/types.ts';
import type { PageLinks } from '../../../page-links.ts';
import type { EventRow } from '../../../store/database/schema.ts';
import { chatMessage } from './message.ts';
import { slackBody } from './slack.ts';
import { teamsBody } from './teams.ts';

const bodies = { slack: slackBody, teams: teamsBody } as const;

/** The same for every attempt, so that its signature covers the same bytes. */
export function deliveryBody(format: WebhookFormat, event: Pick<EventRow, 'payload' | 'team_id' | 'created_at'>, links: PageLinks): string {
  if (format === 'standard') return event.payload;
  const payload = jsonValue(event.payload);
  const message = chatMessage(isObject(payload) ? payload : {});
  const { run } = message;
  const target = run === undefined ? undefined : { teamId: event.team_id, runId: run.id, requestId: run.requestId };
  const link = target === undefined ? undefined : links.linkTo(target, Date.parse(event.created_at));
  return JSON.stringify(bodies[format](message, link));
}
