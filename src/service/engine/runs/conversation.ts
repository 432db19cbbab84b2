/** What people send to a run: messages, and answers to its human requests. */
import type { HumanQuestion } from '../../../interface/types.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { requireRoomToResume } from '../../plans/plan-limits.ts';
import { lockTeam } from '../../store/access/teams.ts';
import { findLiveAgent } from '../../store/agents/agents.ts';
import type { Queries } from '../../store/database/database.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { HumanRequestRow, MessageRow, RunRow, RunsTable } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { answerRequest, findHumanRequest, pendingRequest } from '../../store/runs/human-requests.ts';
import { appendMessages } from '../../store/runs/messages.ts';
import { changeRun, findRun } from '../../store/runs/runs.ts';
import { caseRunAnswered, caseRunResumed } from '../cases/run-end.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';
import { answerInWords, type RequestToAnswer, readAnswer } from '../requests/answers.ts';
import { messageEvents, recordRunEvents, respondedEvent } from '../webhooks/run-events.ts';
import { withdrawEvaluation } from './evaluations.ts';
import { postedMessage, responseMessage } from './messages.ts';

/**
 * Answers a pending human request, after which the run continues. `responderId` is the credential that answers. Throws 404 for an unknown run or request, 409
 * `human_request_already_answered` or `run_not_waiting`, or 400 `invalid_answer`.
 */
export async function respond(
  engine: HasStore & HasClock & HasWorker,
  to: { teamId: string; runId: string; requestId: string; responderId: string },
  body: { approved?: boolean; answers?: Record<string, string>; reason?: string },
): Promise<HumanRequestRow> {
  const answeredRequest = await engine.store.transaction().execute(async (trx) => {
    await lockTeam(trx, to.teamId);
    await lockRows(trx, 'runs', [to.runId]);
    const run = await findRun(trx, to.teamId, to.runId);
    if (run === undefined) throw notFound('run', to.runId);
    const request = await findHumanRequest(trx, to.runId, to.requestId);
    if (request === undefined) throw notFound('human request', to.requestId);
    if (request.status === 'answered')
      throw new ServiceError(409, 'human_request_already_answered', 'The human request has already been answered.');
    if (request.status !== 'pending' || run.status !== 'waiting') {
      throw new ServiceError(409, 'run_not_waiting', `The run is ${run.status}; only a waiting run can be answered.`);
    }
    const answer = readAnswer(requestToAnswer(request), body);
    const now = engine.clock.now();
    const messages = await appendMessages(trx, run.id, [responseMessage(run, answer.message, isoTime(now))]);
    await proceed(trx, run, now, {});
    const row = await answerRequest(trx, request.id, {
      answer: answer.answer,
      response: answer.response,
      responderId: to.responderId,
      respondedAt: isoTime(now),
    });
    await recordRunEvents(engine.clock, trx, run, [...messageEvents(trx, run, messages), respondedEvent(run, row)]);
    await caseRunAnswered(engine, trx, run, row);
    return row;
  });
  engine.worker.wake();
  return answeredRequest;
}

/** What a message is allowed to do to a waiting run. */
interface MessageRules {
  /** Throws if the sender is allowed to send messages, but not to answer requests. */
  checkPermission: () => void;
  /** The request that the message is allowed to answer: null means none, undefined means whichever is pending. */
  expectedRequest?: string | null | undefined;
}

export interface PostedMessage {
  message: MessageRow;
  /** The request that the message answered, if any. */
  answeredRequest: HumanRequestRow | undefined;
}

/**
 * Sends a message to a run. A waiting run takes it as the answer to its request, a completed one starts a new turn with it, and an
 * interrupted one continues after its last completed step; in any other run, a later step can read it, and if none does, another turn
 * starts. Throws 404, 403 `plan_limit_reached`, 409 `run_failed`, 409 `agent_deleted`, and 409 `human_request_pending` or
 * `run_not_waiting` if the pending request is not the expected one.
 */
export async function postMessage(
  engine: HasStore & HasClock & HasWorker,
  to: { teamId: string; runId: string; senderId: string },
  text: string,
  { checkPermission, expectedRequest }: MessageRules,
): Promise<PostedMessage> {
  const result = await engine.store.transaction().execute(async (trx) => {
    // Whoever deletes the agent locks the team as well.
    await lockTeam(trx, to.teamId);
    await lockRows(trx, 'runs', [to.runId]);
    const run = await findRun(trx, to.teamId, to.runId);
    if (run === undefined) throw notFound('run', to.runId);
    if (run.status === 'failed') throw new ServiceError(409, 'run_failed', 'The run has failed and cannot continue; start a new one.');
    if ((await findLiveAgent(trx, to.teamId, run.agent_id)) === undefined) {
      throw new ServiceError(409, 'agent_deleted', 'The agent of this run has been deleted, so the run cannot continue.');
    }
    const request = run.status === 'waiting' ? await pendingRequest(trx, run.id) : undefined;
    if (expectedRequest !== undefined) requireExpected(run, request, expectedRequest);
    const now = engine.clock.now();
    let answeredRequest: HumanRequestRow | undefined;
    const turn = run.status === 'completed' ? run.turn + 1 : run.turn;
    const messages = await appendMessages(trx, run.id, [postedMessage({ id: run.id, turn }, text, isoTime(now), request?.id)]);
    const events = messageEvents(trx, run, messages);
    const counters = { submitted_prompt_count: run.submitted_prompt_count + 1, resume_count: run.resume_count + 1 };
    if (run.status === 'waiting') {
      if (request !== undefined) {
        checkPermission();
        answeredRequest = await answerRequest(trx, request.id, {
          ...answerInWords(requestToAnswer(request), text),
          responderId: to.senderId,
          respondedAt: isoTime(now),
        });
        events.push(respondedEvent(run, answeredRequest));
        await caseRunAnswered(engine, trx, run, answeredRequest);
      }
      await proceed(trx, run, now, counters);
    } else if (run.status === 'completed' || run.status === 'interrupted') {
      await requireRoomToResume(trx, run, now);
      await caseRunResumed(engine, trx, run);
      await withdrawEvaluation(engine, trx, run);
      await proceed(trx, run, now, { ...counters, turn, completed_at: null, error: null });
    } else {
      const { submitted_prompt_count } = counters;
      await changeRun(trx, run.id, [run.status], { submitted_prompt_count, unread_message: messages[0]?.seq, updated_at: isoTime(now) });
    }
    await recordRunEvents(engine.clock, trx, run, events);
    return { message: messages[0] as MessageRow, answeredRequest };
  });
  engine.worker.wake();
  return result;
}

/** Refuses a message that would answer a request that its sender does not know about. */
function requireExpected(run: RunRow, pending: HumanRequestRow | undefined, expectedRequest: string | null): void {
  if ((pending?.id ?? null) === expectedRequest) return;
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

/** Queues the run, provided that its status is still the one that was read. */
async function proceed(
  trx: Queries,
  run: RunRow,
  now: number,
  changes: Partial<Pick<RunsTable, 'turn' | 'completed_at' | 'error' | 'resume_count' | 'submitted_prompt_count'>>,
): Promise<void> {
  await changeRun(trx, run.id, [run.status], { ...changes, status: 'pending', updated_at: isoTime(now) });
  await enqueueJob(trx, { kind: jobKinds.run, subjectId: run.id, dueAt: now, lane: run.team_id });
}

const requestToAnswer = (request: HumanRequestRow): RequestToAnswer => ({
  type: request.type,
  title: request.title,
  questions: request.questions === null ? [] : (JSON.parse(request.questions) as HumanQuestion[]),
});
