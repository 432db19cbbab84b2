/**
 * A webhook for as long as a command listens. The service deletes it some time after the command was killed, so that another command can
 * continue its deliveries until then.
 */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { connect } from '../../cli/connect/connection.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { Webhook, WebhookEventKind } from '../../interface/types.ts';

/** How long it outlives the command, in seconds. */
export const temporarySeconds = 3_600;
/** Pause between two extensions, in milliseconds. */
const extensionPause = (temporarySeconds * 1_000) / 6;
/** How long deleting it may take, in milliseconds. */
const deletionTimeout = 5_000;

export class TemporaryWebhook {
  readonly id: string;
  /** Aborted when the service has deleted it, because it could not be extended in time. */
  readonly lost: AbortSignal;
  readonly #context: Context;
  readonly #end = new AbortController();

  private constructor(context: Context, { id, expires_at }: Webhook) {
    this.id = id;
    this.#context = context;
    const loss = new AbortController();
    this.lost = loss.signal;
    // Services without this extension have webhooks only until they are deleted.
    if (expires_at != null) void this.#extend(loss);
  }

  static async create(context: Context, url: string, events: readonly WebhookEventKind[]): Promise<TemporaryWebhook> {
    const client = await context.client();
    const body = {
      url,
      description: 'aops webhooks listen',
      expires_in_seconds: temporarySeconds,
      ...(events.length === 0 ? {} : { events: [...events] }),
    };
    const { webhook } = await client.call('createTeamWebhook', { params: { teamId: context.teamId() }, body });
    return new TemporaryWebhook(context, webhook);
  }

  /** Continues the one of an earlier command at this address; undefined if it no longer exists. */
  static async continue(context: Context, id: string, url: string): Promise<TemporaryWebhook | undefined> {
    try {
      const webhook = await change(context, id, { url, expires_in_seconds: temporarySeconds });
      return new TemporaryWebhook(context, webhook);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Sends what the service could not deliver yet, oldest first, without waiting for the next attempt. */
  async resendPending(): Promise<void> {
    const client = await this.#context.client();
    const params = { teamId: this.#context.teamId() };
    const query = { subscription_id: this.id, status: 'pending', limit: 100 } as const;
    const { deliveries } = await client.call('listWebhookDeliveries', { params, query });
    for (const { id } of deliveries.toReversed())
      await client.call('resendWebhookDelivery', { params: { ...params, deliveryId: id } }).catch(() => undefined);
  }

  /** Stops extending it, so that it can be continued for a limited time. */
  leave(): void {
    this.#end.abort();
  }

  /** Deletes it, even after the command was interrupted. */
  async remove(): Promise<void> {
    this.#end.abort();
    // The signal of the command has already been aborted.
    const client = await connect({ ...this.#context, signal: AbortSignal.timeout(deletionTimeout), deadline: undefined });
    try {
      await client.call('deleteTeamWebhook', { params: { teamId: this.#context.teamId(), subscriptionId: this.id } });
    } catch (error) {
      if (!isNotFound(error)) this.#reportLeftover();
    } finally {
      await client.close();
    }
  }

  #reportLeftover(): void {
    const { terminal } = this.#context;
    const remedy = terminal.suggested(`Delete it with: aops webhooks delete ${this.id}`);
    terminal.warn(`The temporary webhook could not be deleted. ${remedy}`);
  }

  async #extend(loss: AbortController): Promise<void> {
    const { clock, signal } = this.#context;
    const end = AbortSignal.any([signal, this.#end.signal]);
    try {
      for (;;) {
        await clock.sleep(extensionPause, end);
        await change(this.#context, this.id, { expires_in_seconds: temporarySeconds }, end).catch((error: unknown) => {
          if (isNotFound(error)) loss.abort(expired());
        });
      }
    } catch {
      // The command has ended.
    }
  }
}

async function change(
  context: Context,
  subscriptionId: string,
  body: { url?: string; expires_in_seconds: number },
  signal = context.signal,
): Promise<Webhook> {
  const client: Client = await context.client();
  const params = { teamId: context.teamId(), subscriptionId };
  return (await client.call('updateTeamWebhook', { params, body }, { signal })).webhook;
}

const isNotFound = (error: unknown): boolean => error instanceof ServiceAnswerError && error.status === 404;

const expired = (): AopsError =>
  new AopsError('The service has deleted the temporary webhook, because it was not extended for an hour.', {
    code: 'webhook_expired',
    exit: exitCodes.failure,
    hint: 'Start the command again. If this machine is often suspended, create a webhook and listen with --webhook.',
  });
