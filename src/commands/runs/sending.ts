/**
 * Sending a message without deciding a human request by accident: a message to a run that waits is the answer to what it asks
 * (further groups, Notes). What the run asks is read first. Between that and the message it may begin to ask, so the message names the
 * request that it may answer; services that know this member refuse it otherwise.
 */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { respondCommands } from '../../cli/following/requests.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type NamedRun, runForHere, runTitle, runWord } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import { readJson } from '../../client/response.ts';
import type { HumanRequest, Response } from '../../interface/types.ts';
import { PromptDismissed } from '../../terminal/prompts.ts';

/** What a message is sent to: a request that it answers, or a run that waits for nothing. */
export interface Recipient {
  /** The request that the message answers. */
  request: HumanRequest | undefined;
  /** Sent as `expected_human_request_id`; undefined when the run waits and its request is not shown. */
  expected: string | null | undefined;
}

interface Waiting {
  status: string;
  request: HumanRequest | undefined;
}

/**
 * Decides whether a message may be sent. Asks on a terminal when it would answer a human request.
 * @param asAnswer whether the message is meant as the answer
 * @throws AopsError exit 6 when the run waits and the message is not meant as the answer, or the other way round
 */
export async function recipient(context: Context, run: NamedRun, asAnswer: boolean): Promise<Recipient> {
  const waiting = await readWaiting(await context.client(), run.id, asAnswer);
  const { status, request } = waiting;
  const waits = request !== undefined || status === 'waiting';
  if (!waits && asAnswer)
    throw new AopsError(`The run is not waiting for an answer: its status is ${status}. Nothing was sent.`, {
      code: 'run_not_waiting',
      exit: exitCodes.conflict,
      hint:
        status === 'failed'
          ? 'A failed run takes no messages; start another one with `aops runs start`.'
          : 'To send it as a message, leave out --as-answer.',
    });
  if (!waits) return { request: undefined, expected: null };
  if (!asAnswer && !(await wantsToAnswer(context, run, request))) throw notSent(runForHere(context, run), request);
  return { request, expected: request?.id };
}

/** Posts the message. @throws AopsError exit 6 when the run began to ask meanwhile, and the service looks after that */
export async function postGuarded(
  context: Context,
  run: NamedRun,
  message: string,
  { expected }: Recipient,
): Promise<Response<'postRunMessage'>> {
  const client = await context.client();
  const run_id = run.id;
  const body = { message, ...(expected === undefined ? {} : { expected_human_request_id: expected }) };
  try {
    return await client.call('postRunMessage', { params: { run_id }, body });
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.code !== 'human_request_pending') throw error;
    throw notSent(runForHere(context, run), await pendingNow(client, run_id), error);
  }
}

async function readWaiting(client: Client, run_id: string, asAnswer: boolean): Promise<Waiting> {
  try {
    const { run, pending_human_request: pending } = await client.call('getRun', { params: { run_id } });
    return { status: run.status, request: pending ?? run.pending_human_request ?? undefined };
  } catch (error) {
    // A credential may be allowed to write alone. Then the service has to look after it.
    const forbidden = error instanceof ServiceAnswerError && error.status === 403;
    if (!forbidden || asAnswer || !(await guards(client))) throw error;
    return { status: 'unknown', request: undefined };
  }
}

/** Whether the service refuses a message that would answer another request than the one it names. */
async function guards(client: Client): Promise<boolean> {
  try {
    const answer = await client.send({ method: 'GET', path: '/v2/openapi.json', headers: {}, mutates: false });
    const read = readJson(answer);
    return 'value' in read && JSON.stringify(read.value ?? null).includes('"expected_human_request_id"');
  } catch (error) {
    if (error instanceof ServiceAnswerError) return false;
    throw error;
  }
}

/** The pending request, where it may be read. */
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
      // The person meant to send a message, and is asked something else.
      { unsolicited: true },
    );
  } catch (error) {
    if (error instanceof PromptDismissed) return false;
    throw error;
  }
}

function notSent(run: NamedRun, request: HumanRequest | undefined, cause?: ServiceAnswerError): AopsError {
  const asked = request === undefined ? '' : ` to "${request.title}"`;
  const meaning = request?.type === 'approval' ? 'deny it, with the message as the reason' : 'send the message as the answer';
  return new AopsError(`Run ${runTitle(run)} is waiting for an answer${asked}. The message was not sent.`, {
    code: 'human_request_pending',
    exit: exitCodes.conflict,
    hint: `Answer with ${respondCommands(runWord(run), request)}. To ${meaning}, add --as-answer.`,
    ...(cause === undefined ? {} : { details: cause.details, cause }),
  });
}
