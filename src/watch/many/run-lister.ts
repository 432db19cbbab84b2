/**
 * Reads the state of many runs with few requests: through the list of runs, which has 100 of them on a page, and one by one only where
 * that takes fewer requests. The list can be filtered by one status at a time, and not by ID.
 */
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

/** The state of a run that was read. */
export interface Reading {
  run: Run | RunListItem;
  request: HumanRequest | null;
  /** Whether it comes from the list, which some services fill only partly. */
  isListed: boolean;
}

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
/** Pages to read of runs with one status. */
const maxPages = 10;
/** Up to this many runs are read one by one. */
const fewRuns = 3;

export class RunLister {
  readonly #teamId: string;
  readonly #filter: RunFilter;
  /** The number of times that a run was read by itself. */
  #reads = 0;
  /** Whether the newest runs were searched for runs whose times are unknown. */
  #hasSearched = false;
  /** Reads a page. Once a page was too large for the client, it requests smaller ones. */
  readonly #page = shrinking((limit, offset, call: Call, query: Query<'listRuns'>) =>
    call('listRuns', { params: { teamId: this.#teamId }, query: { ...query, limit, offset } }),
  );

  constructor(teamId: string, filter: RunFilter) {
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
    return { id: run?.id ?? '', createdAt: run?.created_at ?? new Date(0).toISOString() };
  }

  /** The matching runs that were created at this time or later, whether they have ended or not. */
  newerThan(call: Call, since: string): AsyncGenerator<RunListItem, void, undefined> {
    return this.#list(call, { ...this.#filter, since }, maxPages);
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
    for (const { query, count, pages } of this.#rangesOf(runs)) {
      let missing = count;
      for (let page = 0, offset = 0; page < pages; page += 1) {
        const { data, total } = await this.#page(pageSize, offset, call, query);
        for (const item of data) {
          const run = remaining.get(item.id);
          if (run === undefined) continue;
          remaining.delete(item.id);
          missing -= 1;
          yield { run, reading: readingOf(item) };
        }
        offset += data.length;
        const pagesLeft = Math.ceil((total - offset) / pageSize);
        if (data.length === 0 || pagesLeft <= 0 || pagesLeft >= missing) break;
      }
    }
    const leastRecentlyRead = [...remaining.values()].sort((a, b) => a.readAt - b.readAt);
    for (const run of leastRecentlyRead.slice(0, maxReads)) {
      this.#reads += 1;
      run.readAt = this.#reads;
      yield await readOne(call, run);
    }
  }

  /** The parts of the list in which these runs can be found. */
  #rangesOf(runs: readonly WatchedRun[]): Range[] {
    const { status: _, ...filter } = this.#filter;
    const times = runs.flatMap(({ createdAt }) => (createdAt === undefined ? [] : [Date.parse(createdAt)])).sort((a, b) => a - b);
    const ranges: Range[] = [];
    if (times.length > fewRuns) {
      const [since, until] = [times[0], (times.at(-1) as number) + 1].map((time) => new Date(time as number).toISOString());
      ranges.push({ query: { ...filter, since, until } as Query<'listRuns'>, count: times.length, pages: Number.POSITIVE_INFINITY });
    }
    // The times of named runs are unknown at first. Most of them are among the newest runs.
    const unknown = runs.length - times.length;
    if (unknown > fewRuns && !this.#hasSearched) ranges.push({ query: filter, count: unknown, pages: maxPages });
    this.#hasSearched = true;
    return ranges;
  }
}

export const readingOf = (item: RunListItem): Reading => ({ run: item, request: item.pending_human_request, isListed: true });

/** Reads one run. Failures that concern only this run are returned. @throws other failures */
export async function readOne(call: Call, run: WatchedRun): Promise<{ run: WatchedRun; reading: Reading } | Lost> {
  try {
    const { run: current, pending_human_request: request } = await call('getRun', { params: { run_id: run.id } });
    return { run, reading: { run: current, request, isListed: false } };
  } catch (error) {
    if (isAboutOneRun(error)) return { run, error };
    throw error;
  }
}

const isAboutOneRun = (error: unknown): error is AopsError =>
  error instanceof AopsError &&
  (error.exit === exitCodes.notFound ||
    error.exit === exitCodes.forbidden ||
    error.code === 'run_not_shown' ||
    error.code === 'unusable_answer');
