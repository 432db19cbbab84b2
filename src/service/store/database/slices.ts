/**
 * Slices of a long list, in its order. What no index serves, as a search or a page far down a list, has to look at every row: it
 * looks at some at a time, and all other requests are answered in between.
 */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';

/** Runs that a search looks at before others have a turn: a few milliseconds. */
export const searchSlice = 2_500;
/** Runs that are skipped before others have a turn: these are entries of an index alone. */
export const skippedSlice = 10_000;
/** Cases that are looked at before others have a turn: fewer than runs, because a search reads their data. */
export const caseSlice = 1_000;

/** Where a slice begins and ends in the list: after the first row and up to the second; undefined for the ends of the list. */
export interface Slice {
  afterCreated: string | undefined;
  afterNumber: number | undefined;
  untilCreated: string | undefined;
  untilNumber: number | undefined;
}

/** The place of a row in a list that is in the order of creation. */
export interface Place {
  created_at: string;
  number: number;
}

export const wholeList: Slice = { afterCreated: undefined, afterNumber: undefined, untilCreated: undefined, untilNumber: undefined };

export const sliceAfter = (after: Place | undefined, until: Place | undefined): Slice => ({
  afterCreated: after?.created_at,
  afterNumber: after?.number,
  untilCreated: until?.created_at,
  untilNumber: until?.number,
});

/** Whether a slice is bounded at its earliest and at its latest moment. */
export const boundsOf = ({ afterCreated, untilCreated }: Slice, order: 'asc' | 'desc'): { hasStart: boolean; hasEnd: boolean } => ({
  hasStart: (order === 'asc' ? afterCreated : untilCreated) !== undefined,
  hasEnd: (order === 'asc' ? untilCreated : afterCreated) !== undefined,
});

/**
 * The slices of a list, one after the other.
 * @param nextPlace the last row of the slice that begins after a row; undefined when no further slice follows it
 */
export async function* slices(nextPlace: (after: Slice) => Promise<Place | undefined>): AsyncGenerator<Slice, void, undefined> {
  let after: Place | undefined;
  for (;;) {
    const until = await nextPlace(sliceAfter(after, undefined));
    await setImmediate();
    yield sliceAfter(after, until);
    if (until === undefined) return;
    after = until;
    await setImmediate();
  }
}

/** The columns of a list by which it is ordered. */
export type OrderColumns = readonly [created: string, number: string];

/** The conditions of a slice, for a query in the order of the columns. `values` says which of its ends there are. */
export function within(parameters: Slice, values: Slice & { order: 'asc' | 'desc' }, columns: OrderColumns) {
  const place = (operator: '>' | '<' | '<=' | '>=', created: string, number: number) =>
    sql<boolean>`(${sql.ref(columns[0])}, ${sql.ref(columns[1])}) ${sql.raw(operator)} (${created}, ${number})`;
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
