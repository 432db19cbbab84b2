/**
 * Sends a message without deciding a human request by accident: a message to a waiting run is the answer to its request (further
 * groups, Notes). The pending request is read first. A new request might arrive before the message does, so the message specifies the
 * request that it can answer; services that support this field reject it otherwise.
 */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { contractNames } from '../../cli/connect/service-contract.ts';
import { respondCommands } from '../../cli/following/requests.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type NamedRun, runForHere, runTitle, runWord } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { HumanRequest, Response } from '../../interface/types.ts';
import { PromptDismissed } from '../../terminal/prompts.ts';

/** The recipient of a message: a request that it answers, or a run without a pending request. */
export interface Recipient {
  /** The request that the message answers. */
  request: HumanRequest | undefined;
  /** Sent as `expected_human_request_id`; undefined if the run is waiting but its request is unknown. */
  expectedRequest: string | null | undefined;
}

interface WaitingState {
  status: string;
  request: HumanRequest | undefined;
}

/**
 * Decides whether a message can be sent. Prompts on a terminal if it would answer a human request.
 * @param asAnswer whether the message is meant as the answer
 * @throws AopsError exit 6 when the run is waiting but the message is not meant as the answer, or the other way round
 */
export async function recipient(context: Context, run: NamedRun, asAnswer: boolean): Promise<Recipient> {
  const waiting = await readWaiting(await context.client(), run.id, asAnswer);
  const { status, request } = waiting;
  const isWaiting = request !== undefined || status === 'waiting';
  if (!isWaiting && asAnswer)
    throw new AopsError(`The run is not waiting for an answer: its status is ${status}. Nothing was sent.`, {
      code: 'run_not_waiting',
      exit: exitCodes.conflict,
      hint:
        status === 'failed'
          ? 'A failed run cannot receive messages; start another one with `aops runs start`.'
          : 'To send it as a message, omit --as-answer.',
    });
  if (!isWaiting) return { request: undefined, expectedRequest: null };
  if (!asAnswer && !(await wantsToAnswer(context, run, request))) throw messageNotSent(runForHere(context, run), request);
  return { request, expectedRequest: request?.id };
}

/** Sends the message. @throws AopsError exit 6 when a request arrived in the meantime, if the service detects this */
export async function postGuarded(
  context: Context,
  run: NamedRun,
  message: string,
  { expectedRequest }: Recipient,
): Promise<Response<'postRunMessage'>> {
  const client = await context.client();
  const run_id = run.id;
  const body = { message, ...omitUndefined({ expected_human_request_id: expectedRequest }) };
  try {
    return await client.call('postRunMessage', { params: { run_id }, body });
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.code !== 'human_request_pending') throw error;
    throw messageNotSent(runForHere(context, run), await pendingNow(client, run_id), error);
  }
}

async function readWaiting(client: Client, run_id: string, asAnswer: boolean): Promise<WaitingState> {
  try {
    const { run, pending_human_request: pending } = await client.call('getRun', { params: { run_id } });
    return { status: run.status, request: pending ?? run.pending_human_request ?? undefined };
  } catch (error) {
    // The credential might not allow reading runs. Then the service must detect pending requests.
    const forbidden = error instanceof ServiceAnswerError && error.status === 403;
    if (!forbidden || asAnswer || !(await supportsGuard(client))) throw error;
    return { status: 'unknown', request: undefined };
  }
}

/** Whether the service rejects a message that would answer a request other than the specified one. */
const supportsGuard = (client: Client): Promise<boolean> => contractNames(client, 'expected_human_request_id');

/** The pending request, if the credential allows reading it. */
async function pendingNow(client: Client, run_id: string): Promise<HumanRequest | undefined> {
  try {
    return (await client.call('getRun', { params: { run_id } })).pending_human_request ?? undefined;
  } catch (error) {
    if (error instanceof ServiceAnswerError) return undefined;
    throw error;
  }
}

async function wantsToAnswer(context: Context, run: NamedRun, request: HumanRequest | undefined): Promise<boolean> {
  if (!context.terminal.interactive) return false;
  const questions = request?.questions?.length ?? 0;
  const answer =
    request?.type === 'approval'
      ? 'Deny it, with the message as the reason'
      : questions > 1
        ? `Send the message as the answer to all ${questions} questions`
        : 'Send the message as the answer';
  try {
    return await context.prompter.select(
      {
        message: `Run ${runTitle(run)} is waiting for an answer${request === undefined ? '.' : `: ${request.title}`}`,
        ...(request?.description ? { detail: request.description.trimEnd() } : {}),
        choices: [
          { name: answer, value: true },
          { name: 'Do not send the message', value: false },
        ],
        neutral: true,
        escape: 'send nothing',
      },
      // The person wanted to send a message and did not expect this prompt.
      { unsolicited: true },
    );
  } catch (error) {
    if (error instanceof PromptDismissed) return false;
    throw error;
  }
}

function messageNotSent(run: NamedRun, request: HumanRequest | undefined, cause?: ServiceAnswerError): AopsError {
  const toRequest = request === undefined ? '' : ` to "${request.title}"`;
  const effect = request?.type === 'approval' ? 'deny it, with the message as the reason' : 'send the message as the answer';
  return new AopsError(`Run ${runTitle(run)} is waiting for an answer${toRequest}. The message was not sent.`, {
    code: 'human_request_pending',
    exit: exitCodes.conflict,
    hint: `Answer with ${respondCommands(runWord(run), request)}. To ${effect}, add --as-answer.`,
    ...(cause === undefined ? {} : { details: cause.details, cause }),
  });
}
