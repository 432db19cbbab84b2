/**
 * Slices of a long list, in its order. A query without an index, such as a search or a page far down a list, has to read every row: it
 * reads some rows at a time, and all other requests are answered in between.
 */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';

/** How many runs a search reads at a time, which takes a few milliseconds. */
export const searchSlice = 2_500;
/** How many runs are skipped at a time, for which only index entries are read. */
export const skippedSlice = 10_000;
/** How many cases are read at a time: fewer than runs, because a search reads their data. */
export const caseSlice = 1_000;

/** The bounds of a slice: after the first row and up to the second; undefined for the ends of the list. */
export interface Slice {
  afterCreated: string | undefined;
  afterNumber: number | undefined;
  untilCreated: string | undefined;
  untilNumber: number | undefined;
}

/** The position of a row in a list in the order of creation. */
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
 * The slices of a list, in order.
 * @param nextPlace the last row of the slice that begins after a row; undefined if no further slice follows
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

/** The columns that a list is sorted by. */
export type OrderColumns = readonly [created: string, number: string];

/** The conditions of a slice, for a query in the order of the columns. `values` determines which of its bounds exist. */
export function withinSlice(parameters: Slice, values: Slice & { order: 'asc' | 'desc' }, columns: OrderColumns) {
  const place = (operator: '>' | '<' | '<=' | '>=', createdAt: string, number: number) =>
    sql<boolean>`(${sql.ref(columns[0])}, ${sql.ref(columns[1])}) ${sql.raw(operator)} (${createdAt}, ${number})`;
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
