/**
 * The human requests of a team: first all pending ones, then each request as it is made and settled, and the reminders of it. Optionally also hints that
 * runs were started or have changed their status, for clients that display a list of them.
 */
import type { Queries } from '../store/database/database.ts';
import { pendingAfter, type RequestChange, requestChanges } from '../store/runs/request-events.ts';
import { totalsOfTeam } from '../store/runs/run-totals.ts';
import { humanRequestView } from '../views/runs.ts';
import type { EventSource, ServerEvent } from './event-source.ts';
import { type TeamPosition, teamEventId } from './team-position.ts';

export class TeamEvents implements EventSource {
  readonly #db: Queries;
  readonly #teamId: string;
  readonly #position: TeamPosition;
  readonly #includesRuns: boolean;
  #totals: string | undefined;

  /** @param db returns only what is durable */
  constructor(db: Queries, teamId: string, { position, includesRuns }: { position: TeamPosition; includesRuns: boolean }) {
    this.#db = db;
    this.#teamId = teamId;
    this.#position = position;
    this.#includesRuns = includesRuns;
  }

  async *poll(): AsyncGenerator<ServerEvent, boolean, undefined> {
    const position = this.#position;
    while (position.pendingAfter !== null) {
      const rows = await pendingAfter(this.#db, this.#teamId, { after: position.pendingAfter, upTo: position.event });
      for (const row of rows) yield this.#event({ pendingAfter: row.number }, row);
      if (rows.length === 0) position.pendingAfter = null;
    }
    for (;;) {
      const changes = await requestChanges(this.#db, this.#teamId, position.event);
      for (const change of changes) yield this.#event({ event: change.number }, change);
      if (changes.length === 0) break;
    }
    if (this.#includesRuns) yield* this.#runs();
    return true;
  }

  /** Yields a hint if runs were started or have changed their status, judging by the totals; several changes can cancel each other out. */
  async *#runs(): AsyncGenerator<ServerEvent, void, undefined> {
    const totals = await totalsOfTeam(this.#db, this.#teamId);
    if (totals === this.#totals) return;
    this.#totals = totals;
    yield { type: 'runs.changed', data: {} };
  }

  #event(positionChange: Partial<TeamPosition>, { change, row }: RequestChange): ServerEvent {
    Object.assign(this.#position, positionChange);
    const id = teamEventId(this.#position);
    if (change === 'settled') {
      const resolution = row.status === 'answered' ? 'answered' : 'withdrawn';
      return { id, type: 'human_request.resolved', data: { human_request_id: row.id, run_id: row.run_id, title: row.title, resolution } };
    }
    const { run_id, run_title, run_number, agent_id, agent_name } = row;
    const run = { id: run_id, title: run_title, run_number, agent_id, agent_name };
    const type = change === 'reminded' ? 'human_request.reminder' : 'human_request.pending';
    return { id, type, data: { human_request: humanRequestView(row), run } };
  }
}
