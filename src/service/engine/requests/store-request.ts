/** Stores what a run asks a person, in the transaction in which it starts to wait. */
import { newId } from '../../ids.ts';
import type { Outcome } from '../../runtimes/run-host.ts';
import type { Queries } from '../../store/database/database.ts';
import type { HumanRequestRow, RunRow } from '../../store/database/schema.ts';
import { insertHumanRequest } from '../../store/runs/human-requests.ts';

type Waiting = Extract<Outcome, { status: 'waiting' }>;

/** @param now ISO 8601 */
export async function storeRequest(trx: Queries, run: RunRow, { step, request }: Waiting, now: string): Promise<HumanRequestRow> {
  return insertHumanRequest(trx, {
    id: newId(),
    run_id: run.id,
    turn: run.turn,
    step,
    type: request.type,
    title: request.title,
    description: request.description ?? null,
    questions: request.questions === undefined ? null : JSON.stringify(request.questions),
    status: 'pending',
    answer: null,
    response: null,
    responded_at: null,
    remind_at: null,
    reminded_at: null,
    created_at: now,
  });
}
