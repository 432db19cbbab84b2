/**
 * Runs in slices of the order in which they are listed. What no index serves, as a search or a page far down a list, has to look
 * at every run: it does so some at a time, and all other requests are answered in between.
 */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';

/** Runs that a search looks at before others have a turn: a few milliseconds. */
export const searchSlice = 5_000;
/** Runs that are skipped before others have a turn: these are entries of an index alone. */
export const skippedSlice = 20_000;

/** Where a slice begins and ends in the list: after the first run and up to the second; undefined for the ends of the list. */
export interface Slice {
  afterCreated: string | undefined;
  afterNumber: number | undefined;
  untilCreated: string | undefined;
  untilNumber: number | undefined;
}

/** The place of a run in the list. */
export interface Place {
  created_at: string;
  run_number: number;
}

export const wholeList: Slice = { afterCreated: undefined, afterNumber: undefined, untilCreated: undefined, untilNumber: undefined };

export const sliceAfter = (after: Place | undefined, until: Place | undefined): Slice => ({
  afterCreated: after?.created_at,
  afterNumber: after?.run_number,
  untilCreated: until?.created_at,
  untilNumber: until?.run_number,
});

/**
 * The slices of a list, one after the other.
 * @param nextPlace the last run of the slice that begins after a run; undefined when no further slice follows it
 */
export async function* slices(nextPlace: (after: Slice) => Promise<Place | undefined>): AsyncGenerator<Slice, void, undefined> {
  let after: Place | undefined;
  for (;;) {
    const until = await nextPlace(sliceAfter(after, undefined));
    yield sliceAfter(after, until);
    if (until === undefined) return;
    after = until;
    await setImmediate();
  }
}

/** The conditions of a slice, for a query of `runs` in that order. `values` says which of its ends there are. */
export function within(parameters: Slice, values: Slice & { order: 'asc' | 'desc' }) {
  const forwards = values.order === 'asc';
  return [
    ...(values.afterCreated === undefined
      ? []
      : [place(forwards ? '>' : '<', parameters.afterCreated as string, parameters.afterNumber as number)]),
    ...(values.untilCreated === undefined
      ? []
      : [place(forwards ? '<=' : '>=', parameters.untilCreated as string, parameters.untilNumber as number)]),
  ];
}

const place = (operator: '>' | '<' | '<=' | '>=', created: string, number: number) =>
  sql<boolean>`(runs.created_at, runs.run_number) ${sql.raw(operator)} (${created}, ${number})`;
