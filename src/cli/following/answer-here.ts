/** One human request of a run, answered by the person at this terminal. The prompt goes away when the run no longer asks. */
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import { Pace } from '../../watch/pace.ts';
import { callAtPace, patient } from '../../watch/polled.ts';
import { runChanges } from '../../watch/stream-changes.ts';
import type { Context } from '../kit/context.ts';
import { runRequester } from './requester.ts';
import { LeftPending, respond, responderHere } from './responder.ts';

/** What became of a request: answered by the person here, left pending by them, or no longer pending because of somebody else. */
export type AnsweredHere = 'answered' | 'left' | 'gone';

/**
 * Asks the person about a pending request and sends their answer.
 * @throws AopsError when the answer cannot be sent, PromptCancelled on Ctrl-C, UsageError where there is no terminal to ask on
 */
export async function answerHere(context: Context, client: Client, runId: string, request: HumanRequest): Promise<AnsweredHere> {
  const withdrawn = new AbortController();
  const over = new AbortController();
  const watching = watchRequest(context, client, runId, request, withdrawn, over.signal);
  try {
    const options = responderHere(context, { onRequest: 'prompt', answers: undefined });
    const signal = AbortSignal.any([withdrawn.signal, context.signal]);
    if (await respond(options, runRequester(client, runId, { id: runId }), request, signal)) return 'answered';
  } catch (error) {
    if (!(error instanceof LeftPending)) throw error;
    return 'left';
  } finally {
    over.abort();
    await watching;
  }
  context.signal.throwIfAborted();
  return 'gone';
}

/** What a run asks; null when it asks nothing, or is no longer there. */
export async function requestOf(client: Pick<Client, 'call'>, runId: string): Promise<HumanRequest | null> {
  try {
    return (await client.call('getRun', { params: { run_id: runId } })).pending_human_request;
  } catch (error) {
    if (error instanceof ServiceAnswerError && error.status === 404) return null;
    throw error;
  }
}

/** Aborts `withdrawn` when the run no longer has this request. */
async function watchRequest(
  { clock }: Context,
  client: Client,
  runId: string,
  request: HumanRequest,
  withdrawn: AbortController,
  over: AbortSignal,
): Promise<void> {
  const pace = new Pace(clock, { minimum: 1_000 });
  const polling = { call: callAtPace(client, pace, over) } as Pick<Client, 'call'>;
  const look = patient(() => requestOf(polling, runId), { clock, signal: over });
  runChanges(client, runId, { clock, signal: over }).hurry(pace);
  try {
    while ((await look())?.id === request.id) await pace.pause(false, over, client.allowance);
    if (!over.aborted) withdrawn.abort();
  } catch {
    // The prompt has ended, or the service cannot be reached: sending the answer then reports it.
  }
}
