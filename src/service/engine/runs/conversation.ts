/** What people say to a run: messages, and answers to its human requests. */
import type { HumanQuestion } from '../../../interface/types.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { requireRoomToResume } from '../../plans/plan-limits.ts';
import { findAgent } from '../../store/agents/agents.ts';
import type { Queries } from '../../store/database/database.ts';
import type { HumanRequestRow, MessageRow, RunRow, RunsTable } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { answerRequest, findHumanRequest, pendingRequest } from '../../store/runs/human-requests.ts';
import { appendMessages } from '../../store/runs/messages.ts';
import { changeRun, findRun } from '../../store/runs/runs.ts';
import { caseRunAnswered, caseRunResumed } from '../cases/run-end.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';
import { type AskedRequest, answerInWords, readAnswer } from '../requests/answers.ts';
import { messageEvents, recordRunEvents, respondedEvent } from '../webhooks/run-events.ts';
import { withdrawEvaluation } from './evaluations.ts';
import { postedMessage, responseMessage } from './messages.ts';

/**
 * Answers a pending human request; the run goes on. Throws 404 for an unknown run or request, 409
 * `human_request_already_answered` or `run_not_waiting`, 400 `invalid_answer`.
 */
export async function respond(
  engine: HasStore & HasClock & HasWorker,
  to: { teamId: string; runId: string; requestId: string },
  body: { approved?: boolean; answers?: Record<string, string>; reason?: string },
): Promise<HumanRequestRow> {
  const answered = await engine.store.transaction().execute(async (trx) => {
    const run = await findRun(trx, to.teamId, to.runId);
    if (run === undefined) throw notFound('run', to.runId);
    const request = await findHumanRequest(trx, to.runId, to.requestId);
    if (request === undefined) throw notFound('human request', to.requestId);
    if (request.status === 'answered')
      throw new ServiceError(409, 'human_request_already_answered', 'The human request has been answered already.');
    if (request.status !== 'pending' || run.status !== 'waiting') {
      throw new ServiceError(409, 'run_not_waiting', `The run is ${run.status}; only a waiting run takes an answer.`);
    }
    const given = readAnswer(asked(request), body);
    const now = engine.clock.now();
    const said = await appendMessages(trx, run.id, [responseMessage(run, given.message, isoTime(now))]);
    await proceed(trx, run, now, {});
    const row = await answerRequest(trx, request.id, { answer: given.answer, response: given.response, respondedAt: isoTime(now) });
    await recordRunEvents(engine.clock, trx, run, [...messageEvents(trx, run, said), respondedEvent(run, row)]);
    await caseRunAnswered(engine, trx, run, row);
    return row;
  });
  engine.worker.wake();
  return answered;
}

/** What a message may do to a run that waits. */
interface MessageRules {
  /** Throws when the sender may send messages, but may not answer requests. */
  mayAnswer: () => void;
  /** The request that the message may answer, null for none; undefined for whichever is pending. */
  expectedRequest?: string | null | undefined;
}

export interface PostedMessage {
  message: MessageRow;
  /** The request that the message answered. */
  answered: HumanRequestRow | undefined;
}

/**
 * Posts a message. A waiting run takes it as the answer in words, a completed one begins a new turn with it, an interrupted one
 * goes on from its last completed step; in any other a later step can see it. Throws 404, 403 `plan_limit_reached`, 409 `run_failed`,
 * 409 `agent_deleted`, 409 `human_request_pending` or `run_not_waiting` when the pending request is not the expected one.
 */
export async function postMessage(
  engine: HasStore & HasClock & HasWorker,
  to: { teamId: string; runId: string },
  text: string,
  { mayAnswer, expectedRequest }: MessageRules,
): Promise<PostedMessage> {
  const posted = await engine.store.transaction().execute(async (trx) => {
    const run = await findRun(trx, to.teamId, to.runId);
    if (run === undefined) throw notFound('run', to.runId);
    if (run.status === 'failed') throw new ServiceError(409, 'run_failed', 'The run has failed and cannot go on; start a new one.');
    if ((await findAgent(trx, to.teamId, run.agent_id)) === undefined) {
      throw new ServiceError(409, 'agent_deleted', 'The agent of this run has been deleted; the run cannot go on.');
    }
    const request = run.status === 'waiting' ? await pendingRequest(trx, run.id) : undefined;
    if (expectedRequest !== undefined) requireExpected(run, request, expectedRequest);
    const now = engine.clock.now();
    let answered: HumanRequestRow | undefined;
    const turn = run.status === 'completed' ? run.turn + 1 : run.turn;
    const said = await appendMessages(trx, run.id, [postedMessage({ id: run.id, turn }, text, isoTime(now))]);
    const events = messageEvents(trx, run, said);
    const counted = { submitted_prompt_count: run.submitted_prompt_count + 1, resume_count: run.resume_count + 1 };
    if (run.status === 'waiting') {
      if (request !== undefined) {
        mayAnswer();
        answered = await answerRequest(trx, request.id, { ...answerInWords(asked(request), text), respondedAt: isoTime(now) });
        events.push(respondedEvent(run, answered));
        await caseRunAnswered(engine, trx, run, answered);
      }
      await proceed(trx, run, now, counted);
    } else if (run.status === 'completed' || run.status === 'interrupted') {
      await requireRoomToResume(trx, run, now);
      await caseRunResumed(engine, trx, run);
      await withdrawEvaluation(engine, trx, run);
      await proceed(trx, run, now, { ...counted, turn, completed_at: null, error: null });
    } else {
      await changeRun(trx, run.id, [run.status], { submitted_prompt_count: counted.submitted_prompt_count, updated_at: isoTime(now) });
    }
    await recordRunEvents(engine.clock, trx, run, events);
    return { message: said[0] as MessageRow, answered };
  });
  engine.worker.wake();
  return posted;
}

/** Refuses a message that would answer another request than its sender knows of. */
function requireExpected(run: RunRow, pending: HumanRequestRow | undefined, expected: string | null): void {
  if ((pending?.id ?? null) === expected) return;
  if (pending !== undefined)
    throw new ServiceError(
      409,
      'human_request_pending',
      `The run is waiting for an answer to "${pending.title}". The message was not sent.`,
    );
  throw new ServiceError(
    409,
    'run_not_waiting',
    `The run is ${run.status} and no longer waiting for this answer. The message was not sent.`,
  );
}

/** Makes the run due, from the status it was read in. */
async function proceed(
  trx: Queries,
  run: RunRow,
  now: number,
  changes: Partial<Pick<RunsTable, 'turn' | 'completed_at' | 'error' | 'resume_count' | 'submitted_prompt_count'>>,
): Promise<void> {
  await changeRun(trx, run.id, [run.status], { ...changes, status: 'pending', updated_at: isoTime(now) });
  await enqueueJob(trx, { kind: jobKinds.run, subjectId: run.id, dueAt: now, lane: run.team_id });
}

const asked = (request: HumanRequestRow): AskedRequest => ({
  type: request.type,
  title: request.title,
  questions: request.questions === null ? [] : (JSON.parse(request.questions) as HumanQuestion[]),
});
