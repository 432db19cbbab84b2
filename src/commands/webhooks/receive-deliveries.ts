/** Prints the deliveries that are sent to this machine, whoever sends them, and passes them on to other addresses. */
import { once } from 'node:events';
import { steadyTime } from '../../base/clock.ts';
import { openResumption } from '../../cli/following/resumption.ts';
import type { Context } from '../../cli/kit/context.ts';
import { Forwarder } from '../../client/webhooks/forward.ts';
import { type ReceivedDelivery, receiveWebhooks } from '../../client/webhooks/receiver.ts';
import type { WebhookEventKind } from '../../interface/types.ts';
import type { ReceivedPoint } from '../../watch/resume/points.ts';
import { pointOf } from '../../watch/resume/token.ts';
import { ArrivalJournal } from './arrival-journal.ts';
import { acceptedStatus } from './arrival-records.ts';
import { endTemporary } from './follow-webhook.ts';
import { forPrograms, ListenerOutput } from './listener-output.ts';
import { kindOf } from './received.ts';
import { TemporaryWebhook } from './temporary-webhook.ts';

export interface Receiving {
  resume: string | undefined;
  port: number;
  secrets: readonly Uint8Array[];
  until: WebhookEventKind | undefined;
  /** The address to which an event is sent on. */
  targetOf: (event: string) => string | undefined;
  /** The events for which a temporary webhook is created; undefined for none. */
  subscription: readonly WebhookEventKind[] | undefined;
}

/** Pause between two signs that the journal is in use, in milliseconds. */
const touchPause = 86_400_000;

/**
 * Receives until the signal is aborted, or until an event of the wanted type.
 * @throws UsageError for an invalid token, or one whose journal is not on this machine; AopsError `webhook_expired`; the signal's reason
 */
export async function receiveDeliveries(
  context: Context,
  { resume, port, secrets, until, targetOf, subscription }: Receiving,
): Promise<void> {
  const { clock } = context;
  const id = subscription === undefined ? `port ${port}` : ['forwarding', context.teamId(), ...subscription.toSorted()].join(' ');
  const end = new AbortController();
  const signal = AbortSignal.any([context.signal, end.signal]);
  const { journal, output } = await openOutput(context, resume, id);
  const forwarder = new Forwarder(() => steadyTime(clock));
  let receiver: Awaited<ReturnType<typeof receiveWebhooks>> | undefined;
  let temporary: TemporaryWebhook | undefined;
  let hasEnded = false;
  let release: (isAnnounced: boolean) => void = () => undefined;
  const announced = new Promise<boolean>((resolve) => {
    release = resolve;
  });
  const receive = async (delivery: ReceivedDelivery): Promise<number> => {
    // The service may be faster than the first line of the output.
    if (!(await announced)) return 503;
    const { verdict } = delivery;
    const repeatedStatus = verdict.valid ? journal.takeUnanswered(verdict.id) : undefined;
    if (repeatedStatus !== undefined) return repeatedStatus;
    const target = verdict.valid ? targetOf(kindOf(delivery)) : undefined;
    const forwardResult = target === undefined ? undefined : { url: target, ...(await forwarder.forward(target, delivery)) };
    await output.show({ delivery, forwardResult });
    const isAccepted = forwardResult === undefined || ('status' in forwardResult && forwardResult.status < 300);
    // A sender repeats what was not accepted, so the one that ends the command may be a repeat.
    if (isAccepted && verdict.valid && kindOf(delivery) === until) {
      hasEnded = true;
      end.abort();
    }
    return forwardResult === undefined ? 204 : 'status' in forwardResult ? forwardResult.status : 502;
  };
  // What cannot be printed is not accepted, so the sender repeats it, and the command ends.
  const onDelivery = (delivery: ReceivedDelivery): Promise<number> =>
    receive(delivery).catch((error: unknown) => {
      end.abort(error);
      throw error;
    });
  const onAnswered = ({ verdict }: ReceivedDelivery, status: number): void => {
    if (verdict.valid && status < 300) journal.recordAnswer(verdict.id);
  };
  try {
    await output.begin();
    for (const event of journal.records.unprinted) {
      await output.repeat(event);
      if (event.type === 'delivery' && event.event === until && acceptedStatus(event) !== undefined) {
        hasEnded = true;
        return;
      }
    }
    receiver = await receiveWebhooks({ port, secrets, clock, onDelivery, onAnswered, seenIds: journal.records.seenIds });
    if (subscription !== undefined) {
      temporary = await subscribe(context, journal, receiver.url, subscription);
      const { lost } = temporary;
      lost.addEventListener('abort', () => end.abort(lost.reason), { once: true });
    }
    await output.announce(receiver.url);
    release(true);
    void touchRegularly({ clock, signal }, journal);
    if (!signal.aborted) await once(signal, 'abort');
    if (!hasEnded) throw signal.reason;
  } finally {
    end.abort();
    release(false);
    await endTemporary(context, temporary, { resume, hasEnded });
    await receiver?.close();
    await forwarder.close();
    output.close();
    journal.close(forPrograms(context) || resume !== undefined);
  }
}

async function openOutput(
  context: Context,
  resume: string | undefined,
  id: string,
): Promise<{ journal: ArrivalJournal; output: ListenerOutput }> {
  const resumption = await openResumption(context, resume, { stream: 'received', id }, (token) =>
    pointOf(token, 'received', 'deliveries to this machine'),
  );
  const open = async (point: ReceivedPoint | undefined) => {
    const journal = await ArrivalJournal.open(context, point);
    const options = { resumption: { ...resumption, point }, tokenOf: journal.tokenAfter, record: journal.record };
    return { journal, output: new ListenerOutput(context, options) };
  };
  try {
    return await open(resumption.point);
  } catch (error) {
    if (resumption.positions === undefined || resumption.point === undefined || !isExpired(error)) throw error;
    context.terminal.warn('The deliveries after the stored position are no longer stored on this machine, so some may be missing.');
    return await open(undefined);
  }
}

const isExpired = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'resume_token_expired';

/** The temporary webhook of the journal, or a new one if there is none, or it no longer exists. */
async function subscribe(
  context: Context,
  journal: ArrivalJournal,
  url: string,
  events: readonly WebhookEventKind[],
): Promise<TemporaryWebhook> {
  const { webhookId } = journal.records;
  const existing = webhookId === undefined ? undefined : await TemporaryWebhook.continue(context, webhookId, url);
  if (existing !== undefined) {
    await existing.resendPending();
    return existing;
  }
  const created = await TemporaryWebhook.create(context, url, events);
  journal.recordWebhook(created.id);
  return created;
}

async function touchRegularly({ clock, signal }: Pick<Context, 'clock' | 'signal'>, journal: ArrivalJournal): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(touchPause, signal);
      journal.touch(clock.now());
    }
  } catch {
    // The command has ended.
  }
}
