/** A webhook for as long as a command runs. */

import { connect } from '../../cli/connect/connection.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { WebhookEventKind } from '../../interface/types.ts';

/** Milliseconds that deleting it may take. */
const farewell = 5_000;

/** Creates a webhook; what is returned deletes it, also when the command was interrupted. */
export async function temporaryWebhook(context: Context, url: string, events: readonly WebhookEventKind[]): Promise<() => Promise<void>> {
  const client = await context.client();
  const teamId = context.teamId();
  const body = { url, description: 'aops webhooks listen', ...(events.length === 0 ? {} : { events: [...events] }) };
  const { webhook } = await client.call('createTeamWebhook', { params: { teamId }, body });
  return async () => {
    // The command's own signal has been aborted by now.
    const last = await connect({ ...context, signal: AbortSignal.timeout(farewell), deadline: undefined });
    try {
      await last.call('deleteTeamWebhook', { params: { teamId, subscriptionId: webhook.id } });
    } catch {
      context.terminal.warn(`The webhook could not be deleted: aops webhooks delete ${webhook.id}`);
    } finally {
      await last.close();
    }
  };
}
