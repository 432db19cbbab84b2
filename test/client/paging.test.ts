import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerTooLargeError } from '../../src/client/errors.ts';
import { type Page, pagedRows, shrinking } from '../../src/client/paging.ts';

interface Row {
  id: string;
}

const rows = (count: number): Row[] => Array.from({ length: count }, (_, index) => ({ id: String(index) }));

/** Reads pages of a list and records the requests. */
function listOf(source: Row[] | ((request: number) => Row[])) {
  const requests: [number, number][] = [];
  const fetchPage = async (limit: number, offset: number): Promise<Page<Row>> => {
    requests.push([limit, offset]);
    const now = typeof source === 'function' ? source(requests.length) : source;
    return { items: now.slice(offset, offset + limit), total: now.length };
  };
  return { requests, fetchPage };
}

async function ids(walk: AsyncIterable<Row>): Promise<string[]> {
  const found: string[] = [];
  for await (const { id } of walk) found.push(id);
  return found;
}

describe('paging', () => {
  it('requests no more rows than needed', async () => {
    const { requests, fetchPage } = listOf(rows(250));
    expect(await ids(pagedRows(fetchPage, 100, { limit: 120, offset: 10 }))).toHaveLength(120);
    expect(requests).toEqual([
      [100, 10],
      [20, 110],
    ]);
  });

  it('reads all rows once and in order', async () => {
    const { requests, fetchPage } = listOf(rows(250));
    expect(await ids(pagedRows(fetchPage, 100))).toEqual(rows(250).map(({ id }) => id));
    expect(requests).toHaveLength(3);
  });

  it('requests nothing for a limit of 0, and one page of an empty list', async () => {
    const none = listOf(rows(3));
    expect(await ids(pagedRows(none.fetchPage, 100, { limit: 0 }))).toEqual([]);
    expect(none.requests).toEqual([]);
    const emptyList = listOf([]);
    expect(await ids(pagedRows(emptyList.fetchPage, 100))).toEqual([]);
    expect(emptyList.requests).toHaveLength(1);
  });

  it('does not repeat a row that moved to the next page', async () => {
    const before = rows(150);
    const { fetchPage } = listOf((request) => (request === 1 ? before : [{ id: 'new' }, ...before]));
    expect(await ids(pagedRows(fetchPage, 100))).toEqual(before.map(({ id }) => id));
  });

  it.each([
    ['the first rows', (index: number) => index >= 3, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    ['rows that were read, and others', (index: number) => ![1, 3, 6, 11].includes(index), [0, 1, 2, 3, 4, 5, 7, 8, 9, 10]],
    ['all rows that were read', (index: number) => index >= 4, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    ['most of the rows', (index: number) => index < 1 || index > 8, [0, 1, 2, 3, 9, 10, 11]],
    ['all others', (index: number) => index < 4, [0, 1, 2, 3]],
    ['all rows', () => false, [0, 1, 2, 3]],
  ])('leaves no row out that moved in front of a page because %s were removed', async (_, isLeft, expected) => {
    const all = rows(12);
    const { requests, fetchPage } = listOf((request) => (request === 1 ? all : all.filter((_, index) => isLeft(index))));
    expect(await ids(pagedRows(fetchPage, 4))).toEqual(expected.map(String));
    expect(requests.length).toBeLessThanOrEqual(5);
  });

  it('does not report the failure of a page that nobody reads', async () => {
    const { fetchPage } = listOf(rows(4));
    const failing = async (limit: number, offset: number): Promise<Page<Row>> => {
      if (offset > 0) throw new Error('gone');
      return fetchPage(limit, offset);
    };
    for await (const { id } of pagedRows(failing, 2)) {
      expect(id).toBe('0');
      break;
    }
    // An unhandled rejection would fail the whole run of the tests.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('reads nothing again if the service does not count the rows', async () => {
    const { requests, fetchPage } = listOf(rows(4));
    const uncounted = async (limit: number, offset: number) => {
      const { items } = await fetchPage(limit, offset);
      return { items, total: offset + items.length + (items.length === limit ? 1 : 0), isUncounted: true };
    };
    expect(await ids(pagedRows(uncounted, 2))).toEqual(['0', '1', '2', '3']);
    expect(requests).toHaveLength(3);
  });

  it('does not read rows again in front of those that were requested', async () => {
    const { requests, fetchPage } = listOf((request) => (request === 1 ? rows(12) : rows(6)));
    expect(await ids(pagedRows(fetchPage, 2, { offset: 3 }))).toEqual(['3', '4', '5']);
    expect(requests).toEqual([
      [2, 3],
      [2, 5],
      [2, 3],
    ]);
  });

  it('ends when the service repeats a page, ignores the offset, or claims more rows than it has', async () => {
    let requests = 0;
    const page = async () => {
      requests += 1;
      return { items: rows(5), total: 1_000_000 };
    };
    expect(await ids(pagedRows(page, 100))).toHaveLength(5);
    expect(requests).toBe(4);
    expect(await ids(pagedRows(async (_, offset) => ({ items: offset === 0 ? rows(5) : [], total: 9 }), 100))).toHaveLength(5);
  });

  it('continues past a page of known rows, when as many rows were inserted in front', async () => {
    let allRows = rows(30);
    let requests = 0;
    const page = async (limit: number, offset: number) => {
      requests += 1;
      // Ten newer rows appear after the first page was read, so that the second is the first again.
      if (requests === 2) allRows = [...Array.from({ length: 10 }, (_, index) => ({ id: `new-${index}` })), ...allRows];
      return { items: allRows.slice(offset, offset + limit), total: allRows.length };
    };
    expect(await ids(pagedRows(page, 10))).toEqual(rows(30).map(({ id }) => id));
  });

  it('accepts smaller and larger pages than it requested', async () => {
    const allRows = rows(25);
    expect(await ids(pagedRows(async (_, offset) => ({ items: allRows.slice(offset, offset + 10), total: 25 }), 100))).toHaveLength(25);
    expect(await ids(pagedRows(async () => ({ items: allRows, total: 25 }), 10, { limit: 7 }))).toHaveLength(7);
  });

  it('yields each row of an unchanged list exactly once, for any sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(60),
        fc.integer({ min: 1, max: 20 }),
        fc.nat(70),
        fc.option(fc.nat(70), { nil: undefined }),
        async (count, size, offset, limit) => {
          const { fetchPage } = listOf(rows(count));
          const end = limit === undefined ? undefined : offset + limit;
          expect(await ids(pagedRows(fetchPage, size, { limit, offset }))).toEqual(
            rows(count)
              .map(({ id }) => id)
              .slice(offset, end),
          );
        },
      ),
      { seed: 1, numRuns: 100 },
    );
  });
});

describe('pages that are too large for the client', () => {
  const tooLarge = () => new AnswerTooLargeError('the answer is too large', {}, undefined);

  it('are requested with half as many rows, from then on, until they fit', async () => {
    const requests: unknown[][] = [];
    const fetchPage = shrinking(async (limit, offset, word: string) => {
      requests.push([limit, offset, word]);
      if (limit > 30) throw tooLarge();
      return limit;
    });
    expect(await fetchPage(100, 0, 'a')).toBe(25);
    expect(await fetchPage(75, 25, 'b')).toBe(25);
    expect(await fetchPage(10, 50, 'c')).toBe(10);
    expect(requests).toEqual([
      [100, 0, 'a'],
      [50, 0, 'a'],
      [25, 0, 'a'],
      [25, 25, 'b'],
      [10, 50, 'c'],
    ]);
  });

  it('fail if a single row is too large, or for another reason', async () => {
    const limits: number[] = [];
    const fetchPage = shrinking(async (limit) => {
      limits.push(limit);
      throw tooLarge();
    });
    await expect(fetchPage(5, 0)).rejects.toMatchObject({ code: 'answer_too_large' });
    expect(limits).toEqual([5, 2, 1]);
    await expect(shrinking(() => Promise.reject(new Error('no')))(5, 0)).rejects.toThrow('no');
  });
});
