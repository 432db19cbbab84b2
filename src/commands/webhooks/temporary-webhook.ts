/** A webhook that exists as long as a command runs. */

import { connect } from '../../cli/connect/connection.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { WebhookEventKind } from '../../interface/types.ts';

/** How long deleting it may take, in milliseconds. */
const deletionTimeout = 5_000;

/** Creates a webhook. The returned function deletes it, even after the command was interrupted. */
export async function temporaryWebhook(context: Context, url: string, events: readonly WebhookEventKind[]): Promise<() => Promise<void>> {
  const client = await context.client();
  const teamId = context.teamId();
  const body = { url, description: 'aops webhooks listen', ...(events.length === 0 ? {} : { events: [...events] }) };
  const { webhook } = await client.call('createTeamWebhook', { params: { teamId }, body });
  return async () => {
    // The signal of the command has already been aborted.
    const client = await connect({ ...context, signal: AbortSignal.timeout(deletionTimeout), deadline: undefined });
    try {
      await client.call('deleteTeamWebhook', { params: { teamId, subscriptionId: webhook.id } });
    } catch {
      context.terminal.warn(`The temporary webhook could not be deleted. Delete it with: aops webhooks delete ${webhook.id}`);
    } finally {
      await client.close();
    }
  };
}
