/** Shared by list commands: their flags, and results that can be printed row by row. */
import { UsageError } from '../../base/errors.ts';
import { type Page, pagedBatches } from '../../client/paging.ts';
import { flag, integer } from './flags.ts';

/** The rows of a list, read in batches as they are consumed. */
export class RowList<Row = unknown> {
  readonly batches: AsyncIterable<readonly Row[]>;
  readonly limit: number;
  /** The number of rows before the first one; for the newest rows it is known once they are read. */
  offset: number;
  /** The number of rows on the service, as of the last page read. */
  total = 0;
  /** False when the total only indicates whether there are more rows. */
  isCounted = true;
  /** Whether filters were applied: an empty list then only means that nothing matches. */
  isFiltered = false;
  /** Whether these are the last rows of the list, so that the omitted ones come before them. */
  newest = false;
  /** How the rows are shown, if a command has several forms; see `forms` of its output. */
  form: string | undefined;

  constructor(source: (list: RowList<Row>) => AsyncIterable<readonly Row[]>, limit: number, offset: number) {
    this.limit = limit;
    this.offset = offset;
    this.batches = source(this);
  }

  /** The same rows, read now: for a source that will not be available when they are printed. */
  async load(): Promise<RowList<Row>> {
    const batches: (readonly Row[])[] = [];
    for await (const rows of this.batches) batches.push(rows);
    const { total } = this;
    const read = async function* (list: RowList<Row>) {
      list.total = total;
      yield* batches;
    };
    return new RowList(read, this.limit, this.offset);
  }

  /** Reads all rows: the form of a list in JSON. */
  async collect(): Promise<{ data: Row[]; total: number; limit: number; offset: number }> {
    const data: Row[] = [];
    for await (const rows of this.batches) data.push(...rows);
    return { data, total: this.total, limit: this.limit === Number.MAX_SAFE_INTEGER ? data.length : this.limit, offset: this.offset };
  }
}

export const listFlags = {
  limit: integer('N', 'Maximum number of rows to show (default: 20)', { minimum: 1 }),
  offset: integer('N', 'Skip this many rows', { minimum: 0 }),
  all: flag('Show all rows'),
} as const;

/** The number of rows, for --count. In JSON `{"count": N}`. */
export class Count {
  readonly count: number;

  constructor(count: number) {
    this.count = count;
  }
}

/** @throws UsageError for flags that choose rows together with --count */
export function refuseRows(input: ListInput): void {
  for (const key of ['limit', 'offset', 'all'] as const)
    if (input[key]) throw new UsageError(`--count and --${key} cannot be used together, because --count counts all rows.`);
}

interface ListInput {
  limit?: number | undefined;
  offset?: number | undefined;
  all?: boolean;
}

/**
 * The rows that the list flags select.
 * @param fetchPage reads one page
 * @param pageSize the largest `limit` that the operation accepts
 */
export function rowList<Row extends { id: string }>(
  input: ListInput,
  fetchPage: (limit: number, offset: number) => Promise<Page<Row>>,
  pageSize = 100,
): RowList<Row> {
  if (input.all && input.limit !== undefined) throw new UsageError('--all and --limit cannot be used together.');
  const limit = input.all ? Number.MAX_SAFE_INTEGER : (input.limit ?? 20);
  const offset = input.offset ?? 0;
  return new RowList(
    (list) =>
      pagedBatches(
        async (size, start) => {
          const page = await fetchPage(size, start);
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

/** A list that is already in memory, such as the profiles. */
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
