/**
 * The events of a run. The run is read first and its messages afterwards, so that all messages of a run that has ended come
 * before its end. Messages are reported one by one and exactly once; a status is reported when it differs from the last one.
 */

import type { Queries } from '../store/database/database.ts';
import type { HumanRequestRow } from '../store/database/schema.ts';
import { findHumanRequest, requestOf } from '../store/runs/human-requests.ts';
import { listMessageRows, messageIdAt } from '../store/runs/messages.ts';
import { findRun, isTerminal } from '../store/runs/runs.ts';
import { humanRequestView, messageView, runView } from '../views/runs.ts';
import type { EventSource, ServerEvent } from './event-source.ts';
import { isEndReported, markOf, type RunPosition, runEventId } from './run-position.ts';

/** Maximum number of messages that are read at a time; fewer if they are large. */
const pageRows = 50;

export class RunEvents implements EventSource {
  readonly #db: Queries;
  readonly #teamId: string;
  readonly #runId: string;
  readonly #position: RunPosition;
  #checked = false;

  /** @param db returns only what is durable */
  constructor(db: Queries, run: { teamId: string; id: string }, position: RunPosition) {
    this.#db = db;
    this.#teamId = run.teamId;
    this.#runId = run.id;
    this.#position = position;
  }

  async *poll(): AsyncGenerator<ServerEvent, boolean, undefined> {
    const run = await findRun(this.#db, this.#teamId, this.#runId);
    if (run === undefined) return false;
    const pending = await requestOf(this.#db, run);
    const wasReported = isEndReported(this.#position, run);
    const hasMessages = yield* this.#messages();
    const { request } = this.#position;
    if (request !== null && request !== pending?.id) {
      const row = await findHumanRequest(this.#db, run.id, request);
      yield this.#event('human_request.resolved', resolvedData(request, row), { request: null, reminders: 0 });
    }
    const previous = this.#position.status;
    if (run.status !== previous) yield this.#event('run.status', { status: run.status, previous }, { status: run.status, finished: null });
    if (pending !== undefined) {
      const { id, reminders } = pending;
      const isNew = id !== this.#position.request;
      if (isNew || reminders > this.#position.reminders)
        yield this.#event(
          isNew ? 'human_request.pending' : 'human_request.reminder',
          { human_request: humanRequestView(pending) },
          { request: id, reminders },
        );
    }
    if (!isTerminal(run.status)) return true;
    if (!wasReported) yield this.#event('run.finished', { run: runView(run, pending) }, { finished: run.resume_count });
    // New messages after the end can show that the run has been continued since it was read.
    return wasReported && hasMessages ? yield* this.poll() : false;
  }

  /** Returns whether there were any. */
  async *#messages(): AsyncGenerator<ServerEvent, boolean, undefined> {
    const position = this.#position;
    if (!this.#checked) await this.#check();
    const first = position.seq;
    for (;;) {
      const rows = await listMessageRows(this.#db, this.#runId, { limit: pageRows, offset: position.seq });
      if (rows.length === 0) return position.seq > first;
      for (const row of rows) yield this.#event('message', { message: messageView(row) }, { seq: row.seq, mark: markOf(row.id) });
    }
  }

  /** After a data directory was restored, its messages can differ from those that the reader has seen. Then they are all reported again. */
  async #check(): Promise<void> {
    this.#checked = true;
    const position = this.#position;
    if (position.seq === 0) return;
    const id = await messageIdAt(this.#db, this.#runId, position.seq);
    if (id === undefined || markOf(id) !== position.mark) Object.assign(position, { seq: 0, mark: '' });
  }

  #event(type: string, data: unknown, change: Partial<RunPosition>): ServerEvent {
    Object.assign(this.#position, change);
    return { id: runEventId(this.#position), type, data };
  }
}

const resolvedData = (id: string, row: HumanRequestRow | undefined) => ({
  human_request_id: id,
  title: row?.title ?? '',
  resolution: row?.status === 'answered' ? 'answered' : 'withdrawn',
});
