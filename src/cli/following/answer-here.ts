/** Answers one human request of a run at this terminal. The prompt disappears when the request is no longer pending. */
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import { Pace } from '../../watch/pace.ts';
import { callAtPace, retryThroughOutages } from '../../watch/polling.ts';
import { runChanges } from '../../watch/stream-changes.ts';
import type { Context } from '../kit/context.ts';
import { runRequester } from './requester.ts';
import { LeftPendingError, respond, responderHere } from './responder.ts';

/** The outcome of a request: answered here, left pending here, or no longer pending because of somebody else. */
export type AnswerOutcome = 'answered' | 'left' | 'gone';

/**
 * Prompts the user for an answer to a pending request and sends it.
 * @param end withdraws the prompt when it is aborted; by default with the command
 * @throws AopsError when the answer cannot be sent, PromptCancelled on Ctrl-C, UsageError without an interactive terminal, the reason of `end`
 */
export async function answerHere(
  context: Context,
  client: Client,
  runId: string,
  request: HumanRequest,
  end: AbortSignal = context.signal,
): Promise<AnswerOutcome> {
  const withdrawal = new AbortController();
  const endController = new AbortController();
  const watching = watchRequest(context, client, runId, request, withdrawal, endController.signal);
  try {
    const options = responderHere(context, { onRequest: 'prompt', answers: undefined });
    const signal = AbortSignal.any([withdrawal.signal, end]);
    if (await respond(options, runRequester(client, runId, { id: runId }), request, signal)) return 'answered';
  } catch (error) {
    if (!(error instanceof LeftPendingError)) throw error;
    return 'left';
  } finally {
    endController.abort();
    await watching;
  }
  end.throwIfAborted();
  return 'gone';
}

/** The pending request of a run; null when there is none, or the run no longer exists. */
export async function requestOf(client: Pick<Client, 'call'>, runId: string): Promise<HumanRequest | null> {
  try {
    return (await client.call('getRun', { params: { run_id: runId } })).pending_human_request;
  } catch (error) {
    if (error instanceof ServiceAnswerError && error.status === 404) return null;
    throw error;
  }
}

/** Aborts `withdrawal` when this request of the run is no longer pending. */
async function watchRequest(
  { clock }: Context,
  client: Client,
  runId: string,
  request: HumanRequest,
  withdrawal: AbortController,
  signal: AbortSignal,
): Promise<void> {
  const pace = new Pace(clock, { minimum: 1_000 });
  const polling = { call: callAtPace(client, pace, signal) } as Pick<Client, 'call'>;
  const readRequest = retryThroughOutages(() => requestOf(polling, runId), { clock, signal });
  runChanges(client, runId, { clock, signal }).hurry(pace);
  try {
    while ((await readRequest())?.id === request.id) await pace.pause(false, signal, client.allowance);
    if (!signal.aborted) withdrawal.abort();
  } catch {
    // The prompt has ended, or the service cannot be reached: sending the answer then reports it.
  }
}
