/** The two streams that are read from the list of the service: of a webhook that exists, and of a temporary one. */
import { type AopsError, UsageError } from '../../base/errors.ts';
import { readBeforeWatching } from '../../cli/following/outage.ts';
import { openResumption, type Resumption } from '../../cli/following/resumption.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { WebhookEventKind } from '../../interface/types.ts';
import type { DeliveriesPoint } from '../../watch/resume/points.ts';
import { foreignToken, pointOf } from '../../watch/resume/token.ts';
import { followDeliveries } from './follow-deliveries.ts';
import { allWebhooks, findWebhook } from './record.ts';
import { TemporaryWebhook } from './temporary-webhook.ts';

interface Listening {
  resume: string | undefined;
  port: number;
  secrets: readonly Uint8Array[];
  until: WebhookEventKind | undefined;
}

/** Prints the deliveries of a webhook. @throws AopsError `webhook_not_found`; UsageError for a token that is invalid or of another webhook */
export async function followWebhook(context: Context, webhook: string, { resume, ...listening }: Listening): Promise<void> {
  const { id } = await readBeforeWatching(context, (reading) => findWebhook(reading, webhook));
  const resumption = await openResumption(context, resume, { stream: 'deliveries', id }, (token) => {
    const wanted = `webhook ${id}`;
    const point = pointOf(token, 'deliveries', wanted);
    if (point.webhookId !== id) throw foreignToken(point, wanted);
    return point;
  });
  await followDeliveries(context, { ...listening, resumption, webhook: id });
}

/**
 * Prints the deliveries of a temporary webhook, which is created or, with a position, continued.
 * @throws UsageError for a token that is invalid, or whose webhook is not temporary; AopsError `webhook_expired`
 */
export async function followTemporary(
  context: Context,
  events: readonly WebhookEventKind[],
  { resume, ...listening }: Listening,
): Promise<void> {
  const wanted = 'a temporary webhook';
  const id = ['temporary', context.teamId(), ...events.toSorted()].join(' ');
  const opened = await openResumption(context, resume, { stream: 'deliveries', id }, (token) => pointOf(token, 'deliveries', wanted));
  let resumption: Resumption<DeliveriesPoint>;
  try {
    resumption = await withExisting(context, opened, wanted);
  } catch (error) {
    opened.positions?.close();
    throw error;
  }
  const loss = new AbortController();
  const signal = AbortSignal.any([context.signal, loss.signal]);
  let temporary: TemporaryWebhook | undefined;
  let hasEnded = false;
  const webhook = async (url: string): Promise<string> => {
    const { webhookId = '' } = resumption.point ?? {};
    temporary =
      webhookId === '' ? await TemporaryWebhook.create(context, url, events) : await TemporaryWebhook.continue(context, webhookId, url);
    if (temporary === undefined) throw expiredPosition();
    const { lost } = temporary;
    lost.addEventListener('abort', () => loss.abort(lost.reason), { once: true });
    return temporary.id;
  };
  try {
    await followDeliveries({ ...context, signal }, { ...listening, resumption, webhook });
    hasEnded = true;
  } finally {
    await endTemporary(context, temporary, { resume, hasEnded });
  }
}

/**
 * Deletes a temporary webhook if the command ends as somebody wanted. Otherwise it is left for a while, to be continued.
 * @param hasEnded whether the command has ended by itself
 */
export async function endTemporary(
  { signal, terminal }: Context,
  temporary: TemporaryWebhook | undefined,
  { resume, hasEnded }: { resume: string | undefined; hasEnded: boolean },
): Promise<void> {
  const isWanted = (hasEnded || signal.aborted) && !terminal.brokenPipe.aborted;
  if (isWanted && resume === undefined) await temporary?.remove();
  else temporary?.leave();
}

/** A resumption whose webhook still exists. */
async function withExisting(
  context: Context,
  resumption: Resumption<DeliveriesPoint>,
  wanted: string,
): Promise<Resumption<DeliveriesPoint>> {
  const { point, positions } = resumption;
  if (point === undefined) return resumption;
  const webhook = (await readBeforeWatching(context, allWebhooks)).find(({ id }) => id === point.webhookId);
  if (webhook !== undefined && webhook.expires_at == null) throw foreignToken(point, wanted);
  if (webhook !== undefined) return resumption;
  if (positions === undefined) throw expiredPosition();
  context.terminal.warn('The temporary webhook of the stored position no longer exists, so deliveries since then are missing.');
  return { ...resumption, point: { ...point, webhookId: '', taken: [] } };
}

const expiredPosition = (): AopsError =>
  new UsageError(
    'The temporary webhook of this resume token no longer exists.',
    'It is deleted when the command ends without --resume, or an hour after it was killed. Start without --resume.',
    'resume_token_expired',
  );
