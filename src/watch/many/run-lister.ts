/**
 * Reads the state of many runs with few requests: through the list of runs, which has 100 of them on a page, and one by one only where
 * that takes fewer requests. The list can be filtered by time and by one status, and not by ID.
 */
import { type Clock, steadyTime } from '../../base/clock.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { shrinking } from '../../client/paging.ts';
import { isActive, runStatuses, type runStatusFilters } from '../../interface/run-status.ts';
import type { HumanRequest, Query, Run, RunListItem } from '../../interface/types.ts';
import type { Call } from '../polling.ts';
import type { WatchedRun } from './watched-run.ts';

/** Which runs of a team to watch; without a status, those that have not ended. */
export interface RunFilter {
  agent_id?: string;
  case_queue_id?: string;
  status?: (typeof runStatusFilters)[number];
}

/** The state of a run that was read, as of some moment after it was requested, which is in steady time. */
export type Reading = { request: HumanRequest | null; requestedAt: number } & (
  | { run: Run; isListed: false }
  /** It comes from the list, which some services fill only partly. */
  | { run: RunListItem; isListed: true }
);

/** A run that cannot be read any more, because it was deleted or the credential may not read it. */
export interface Lost {
  run: WatchedRun;
  error: AopsError;
}

/** A part of the list that contains some of the watched runs. */
interface Range {
  query: Query<'listRuns'>;
  /** The number of watched runs that are expected in it. */
  count: number;
  /** The number of pages to read at most. */
  pages: number;
}

/** The largest `limit` of listRuns. */
const pageSize = 100;
/** Pages to read of runs with one status, and of new ones. */
const maxPages = 10;
/** Pages to read of known runs together with the new ones. */
const maxRecentPages = 2;
/** Up to this many runs whose times are unknown are read one by one. */
const fewRuns = 3;

const pagesOf = (runs: number): number => Math.ceil(runs / pageSize);

export class RunLister {
  readonly #clock: Clock;
  readonly #teamId: string;
  readonly #filter: RunFilter;
  /** The number of times that a run was read by itself. */
  #reads = 0;
  /** Whether the newest runs were searched for runs whose times are unknown. */
  #hasSearched = false;
  /** When the newest run that was seen was created, and from when on known runs are read together with new ones. */
  #newestTime = '';
  #recentTime = '';
  /** The size of the part of the list between the first and the last of the runs that were read most recently. */
  #whole: { since: string; until: string; total: number } | undefined;
  /** Reads a page. Once a page was too large for the client, it requests smaller ones. */
  readonly #page = shrinking((limit, offset, call: Call, query: Query<'listRuns'>) =>
    call('listRuns', { params: { teamId: this.#teamId }, query: { ...query, limit, offset } }),
  );

  constructor(clock: Clock, teamId: string, filter: RunFilter) {
    this.#clock = clock;
    this.#teamId = teamId;
    this.#filter = filter;
  }

  /** The runs that match the filter now: the newest 1,000 of each status, but only the newest 100 if they have ended. */
  async *matching(call: Call): AsyncGenerator<RunListItem, void, undefined> {
    const { status, ...filter } = this.#filter;
    const statuses = status === undefined ? runStatuses.filter(isActive) : [status];
    for (const each of statuses) {
      const pages = isActive(each) && each !== 'needs_attention' && each !== 'stopped' ? maxPages : 1;
      yield* this.#list(call, { ...filter, status: each }, pages);
    }
  }

  /** The newest run of the team, from which on runs are new; by the clock of the service. */
  async newest(call: Call): Promise<{ id: string; createdAt: string }> {
    const [run] = (await this.#page(1, 0, call, {})).data;
    this.#newestTime = run?.created_at ?? new Date(0).toISOString();
    return { id: run?.id ?? '', createdAt: this.#newestTime };
  }

  /**
   * The newest runs, whether they have ended or not: those that were created since this or `newest` was called last, and the given runs
   * as far as they are among the newest 100 to 200.
   */
  async *recent(call: Call, runs: readonly Pick<WatchedRun, 'createdAt'>[]): AsyncGenerator<RunListItem, void, undefined> {
    const times = runs.flatMap(({ createdAt }) => (createdAt === undefined || createdAt < this.#recentTime ? [] : [createdAt]));
    const newestTime = this.#newestTime;
    const since = times.reduce((first, time) => (time < first ? time : first), newestTime);
    for (let page = 0, offset = 0; page < maxPages; page += 1) {
      const { data, total } = await this.#page(pageSize, offset, call, { ...this.#filter, since });
      for (const run of data) {
        if (run.created_at !== null && run.created_at > this.#newestTime) this.#newestTime = run.created_at;
        yield run;
      }
      offset += data.length;
      if (data.length === 0 || offset >= total) return;
      const lastTime = data.at(-1)?.created_at ?? newestTime;
      if (pagesOf(total) > maxRecentPages && lastTime <= newestTime) {
        this.#recentTime = lastTime;
        return;
      }
    }
  }

  async *#list(call: Call, query: Query<'listRuns'>, pages: number): AsyncGenerator<RunListItem, void, undefined> {
    const seenIds = new Set<string>();
    for (let page = 0, offset = 0; page < pages; page += 1) {
      const { data, total } = await this.#page(pageSize, offset, call, query);
      for (const run of data) {
        if (seenIds.has(run.id)) continue;
        seenIds.add(run.id);
        yield run;
      }
      offset += data.length;
      if (data.length === 0 || offset >= total) return;
    }
  }

  /**
   * The current state of these runs.
   * @param maxReads the number of runs that may be read one by one; the runs that were read most recently are left out
   */
  async *current(
    call: Call,
    runs: readonly WatchedRun[],
    maxReads: number,
  ): AsyncGenerator<{ run: WatchedRun; reading: Reading } | Lost, void, undefined> {
    const remaining = new Map(runs.map((run) => [run.id, run]));
    const whole = this.#wholeOf(runs);
    const ranges = this.#rangesOf(runs, whole);
    for (const range of ranges) yield* this.#fromList(call, range, remaining);
    // Runs that have another status now are missing in the lists by status.
    if (whole !== undefined && !ranges.includes(whole) && this.#pagesOf(whole) < remaining.size)
      yield* this.#fromList(call, { ...whole, count: remaining.size }, remaining);
    const leastRecentlyRead = [...remaining.values()].sort((a, b) => a.readAt - b.readAt);
    for (const run of leastRecentlyRead.slice(0, maxReads)) {
      this.#reads += 1;
      run.readAt = this.#reads;
      yield await readOne(call, run, this.#clock);
    }
  }

  async *#fromList(
    call: Call,
    { query, count, pages }: Range,
    remaining: Map<string, WatchedRun>,
  ): AsyncGenerator<{ run: WatchedRun; reading: Reading }, void, undefined> {
    let missing = count;
    for (let page = 0, offset = 0; page < pages; page += 1) {
      const requestedAt = steadyTime(this.#clock);
      const { data, total } = await this.#page(pageSize, offset, call, query);
      const { since, until, status } = query;
      if (since !== undefined && until !== undefined && status === undefined) this.#whole = { since, until, total };
      for (const item of data) {
        const run = remaining.get(item.id);
        if (run === undefined) continue;
        remaining.delete(item.id);
        missing -= 1;
        yield { run, reading: readingOf(item, requestedAt) };
      }
      offset += data.length;
      const pagesLeft = pagesOf(total - offset);
      if (data.length === 0 || pagesLeft <= 0 || pagesLeft >= missing) return;
    }
  }

  /** The part of the list between the first and the last of these runs, whatever their status. */
  #wholeOf(runs: readonly WatchedRun[]): Range | undefined {
    const { status: _, ...filter } = this.#filter;
    const range = rangeOf(runs);
    return range && { ...range, query: { ...filter, ...range.query } };
  }

  /** The number of its pages, as far as that is known. */
  #pagesOf({ query, count }: Range): number {
    const isKnown = query.since === this.#whole?.since && query.until === this.#whole?.until;
    return pagesOf(isKnown ? Math.max(1, this.#whole?.total ?? 0) : count);
  }

  /** The parts of the list in which these runs can be found with few requests; none if it takes fewer to read them one by one. */
  #rangesOf(runs: readonly WatchedRun[], whole: Range | undefined): Range[] {
    const { status: _, ...filter } = this.#filter;
    const ranges: Range[] = [];
    if (whole !== undefined) {
      const statuses = new Set(runs.map(({ state }) => state.status));
      const byStatus = [...statuses].flatMap((status) => {
        const range = rangeOf(runs.filter(({ state }) => state.status === status));
        return range === undefined ? [] : [{ ...range, query: { ...filter, ...range.query, status } as Query<'listRuns'> }];
      });
      const pages = byStatus.reduce((sum, { count }) => sum + pagesOf(count), 0);
      const chosen = statuses.has(null) || this.#pagesOf(whole) <= pages ? [whole] : byStatus;
      if (Math.min(pages, this.#pagesOf(whole)) < whole.count) ranges.push(...chosen);
    }
    // The times of named runs are unknown at first. Most of them are among the newest runs.
    const unknown = runs.length - (whole?.count ?? 0);
    if (unknown > fewRuns && !this.#hasSearched) ranges.push({ query: filter, count: unknown, pages: maxPages });
    this.#hasSearched = true;
    return ranges;
  }
}

/** The part of the list between the first and the last of these runs; undefined if their times are unknown. */
function rangeOf(runs: readonly WatchedRun[]): Range | undefined {
  const times = runs.flatMap(({ createdAt }) => (createdAt === undefined ? [] : [Date.parse(createdAt)])).sort((a, b) => a - b);
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const [since, until] = [first, last + 1].map((time) => new Date(time).toISOString());
  return { query: { since, until } as Query<'listRuns'>, count: times.length, pages: Number.POSITIVE_INFINITY };
}

export const readingOf = (item: RunListItem, requestedAt: number): Reading => ({
  ...{ run: item, request: item.pending_human_request ?? null, requestedAt },
  isListed: true,
});

/** Reads one run. Failures that concern only this run are returned. @throws other failures */
export async function readOne(call: Call, run: WatchedRun, clock: Clock): Promise<{ run: WatchedRun; reading: Reading } | Lost> {
  const requestedAt = steadyTime(clock);
  try {
    const { run: current, pending_human_request: request } = await call('getRun', { params: { run_id: run.id } });
    return { run, reading: { run: current, request, requestedAt, isListed: false } };
  } catch (error) {
    if (isAboutOneRun(error)) return { run, error };
    throw error;
  }
}

/** Whether an error concerns only the run that was read. */
export const isAboutOneRun = (error: unknown): error is AopsError =>
  error instanceof AopsError &&
  (error.exit === exitCodes.notFound ||
    error.exit === exitCodes.forbidden ||
    error.code === 'run_not_shown' ||
    error.code === 'unusable_answer');
