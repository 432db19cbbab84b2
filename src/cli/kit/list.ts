/** What list commands share: their flags, and results that can be printed row by row. */
import { UsageError } from '../../base/errors.ts';
import { type Page, pagedBatches } from '../../client/paging.ts';
import { flag, integer } from './flags.ts';

/** Rows of a list, read as they are taken, some at a time. */
export class RowList<Row = unknown> {
  readonly batches: AsyncIterable<readonly Row[]>;
  readonly limit: number;
  /** How many come before the first one; for the newest rows it is known once they are read. */
  offset: number;
  /** How many there are on the service, as of the last page read. */
  total = 0;
  /** False when the total only says whether there are more. */
  counted = true;
  /** Whether filters chose the rows: that there are none then does not mean that there is nothing. */
  narrowed = false;
  /** Whether these are the last rows of the list, and what is left out comes before them. */
  newest = false;
  /** How the rows are shown, where a command has several ways; see `forms` of its output. */
  form: string | undefined;

  constructor(source: (list: RowList<Row>) => AsyncIterable<readonly Row[]>, limit: number, offset: number) {
    this.limit = limit;
    this.offset = offset;
    this.batches = source(this);
  }

  /** Reads all rows: the form of a list in JSON. */
  async collect(): Promise<{ data: Row[]; total: number; limit: number; offset: number }> {
    const data: Row[] = [];
    for await (const rows of this.batches) data.push(...rows);
    return { data, total: this.total, limit: this.limit === Number.MAX_SAFE_INTEGER ? data.length : this.limit, offset: this.offset };
  }
}

export const listFlags = {
  limit: integer('N', 'How many to show (default 20)', { minimum: 1 }),
  offset: integer('N', 'Skip so many first', { minimum: 0 }),
  all: flag('Show all of them'),
} as const;

/** How many there are, where a list was asked to count alone. In JSON `{"count": N}`. */
export class Count {
  readonly count: number;

  constructor(count: number) {
    this.count = count;
  }
}

/** @throws UsageError for flags that choose rows where rows are only counted */
export function refuseRows(input: ListInput): void {
  for (const key of ['limit', 'offset', 'all'] as const)
    if (input[key]) throw new UsageError(`--count and --${key} exclude each other: all that there are are counted.`);
}

interface ListInput {
  limit?: number | undefined;
  offset?: number | undefined;
  all?: boolean;
}

/**
 * The rows that the list flags ask for.
 * @param fetchPage reads one page
 * @param pageSize the largest `limit` that the operation takes
 */
export function rowList<Row extends { id: string }>(
  input: ListInput,
  fetchPage: (limit: number, offset: number) => Promise<Page<Row>>,
  pageSize = 100,
): RowList<Row> {
  if (input.all && input.limit !== undefined) throw new UsageError('--all and --limit exclude each other.');
  const limit = input.all ? Number.MAX_SAFE_INTEGER : (input.limit ?? 20);
  const offset = input.offset ?? 0;
  return new RowList(
    (list) =>
      pagedBatches(
        async (size, from) => {
          const page = await fetchPage(size, from);
          list.total = page.total;
          return page;
        },
        pageSize,
        { limit, offset },
      ),
    limit,
    offset,
  );
}

/** A list that is there already, such as the profiles. */
export function wholeList<Row>(rows: readonly Row[]): RowList<Row> {
  return new RowList(
    async function* (list) {
      list.total = rows.length;
      yield rows;
    },
    Math.max(1, rows.length),
    0,
  );
}
