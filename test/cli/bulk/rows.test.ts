/** Rows of files, their messages, and the order of their results. */
import { describe, expect, it } from 'vitest';
import { inCompletionOrder } from '../../../src/cli/bulk/completion-order.ts';
import { MessageTemplate } from '../../../src/cli/bulk/message-template.ts';
import { type RowFormat, readRows } from '../../../src/cli/bulk/rows.ts';

const valuesOf = (text: string, file: string, format?: RowFormat): unknown[] =>
  readRows(Buffer.from(text), file, format).rows.map(({ values }) => values);

describe('the rows of a file', () => {
  it.each([
    ['rows.csv', 'a,b\n1,2\n'],
    ['rows.TSV', 'a\tb\n1\t2\n'],
    ['rows.csv', 'a;b\n1;2\n'],
    ['rows.json', '[{"a":"1","b":"2"}]'],
    ['rows.json', '{"cases":[{"a":"1","b":"2"}],"data":[]}'],
    ['rows.json', '{"data":[{"a":"1","b":"2"}]}'],
    ['rows.ndjson', '\n{"a":"1","b":"2"}\n\n'],
    ['rows.jsonl', '{"a":"1","b":"2"}'],
  ])('are read from %s: %j', (file, text) => {
    expect(valuesOf(text, file)).toEqual([{ a: '1', b: '2' }]);
  });

  it.each([
    ['{"a":1}\n\n{', 'rows.ndjson:3 is not valid JSON'],
    ['{"a":1}\n\n7', 'rows.ndjson:3 is not an object.'],
    ['null', 'rows.ndjson:1 is not an object.'],
  ])('name the invalid line of %j', (text, message) => {
    expect(() => valuesOf(text, 'rows.ndjson')).toThrow(message);
  });

  it.each([
    ['[{}, 7]', 'rows.json: entry 2 is not an object.'],
    ['{"other":[]}', 'rows.json does not contain a list'],
    ['7', 'rows.json does not contain a list'],
    ['[]', 'rows.json has no rows.'],
  ])('are a list of objects in JSON: %j', (text, message) => {
    expect(() => valuesOf(text, 'rows.json')).toThrow(message);
  });

  it('have a format', () => {
    expect(() => valuesOf('a\n1', 'rows.txt')).toThrow('rows.txt is not a .csv, .json, .ndjson or .jsonl file.');
    expect(() => valuesOf('a\n1', 'standard input')).toThrow('The format of standard input is unknown.');
    expect(valuesOf('a\n1', 'rows.txt', 'csv')).toEqual([{ a: '1' }]);
  });

  it('are separated by commas unless another delimiter is more frequent in the header', () => {
    expect(valuesOf('a;b,c\n1;2,3', 'x.csv')).toEqual([{ 'a;b': '1;2', c: '3' }]);
    expect(valuesOf('"a,b,c";d\n1;2', 'x.csv')).toEqual([{ 'a,b,c': '1', d: '2' }]);
    // A header with one column has no delimiter.
    expect(() => valuesOf('name\nSmith, John', 'x.csv')).toThrow('x.csv:2: the row has 2 cells, but the header has 1 column.');
  });
});

describe('a message', () => {
  it('contains the columns of the row, which are empty where the row lacks them', () => {
    const template = new MessageTemplate('{{ constructor }}/{{ row["a b"] }}.', { columns: ['constructor', 'a b'] }, 'rows.ndjson');
    expect([...template.usedColumns]).toEqual(['constructor', 'a b']);
    expect(template.render({ constructor: 'x', 'a b': 1 }, 1)).toBe('x/1.');
    expect(template.render({ 'a b': 2 }, 2)).toBe('/2.');
  });

  it('names only columns of the file', () => {
    expect(() => new MessageTemplate('{{ other }}', { columns: ['a', 'b'] }, 'rows.csv')).toThrow('rows.csv has no column "other"');
    expect(() => new MessageTemplate('{{ row.other }}', { columns: ['a'] }, 'rows.csv')).toThrow('no column "other"');
    // A column can have this name, too.
    expect(new MessageTemplate('{{ row }}', { columns: ['row'] }, 'rows.csv').render({ row: 'x' }, 1)).toBe('x');
  });
});

describe('work on many items', () => {
  it('is started in order, a few at a time, and yields results as they arrive', async () => {
    const started: number[] = [];
    const ends = new Map<number, () => void>();
    const results = inCompletionOrder(
      [1, 2, 3, 4],
      2,
      () => false,
      async (item) => {
        started.push(item);
        await new Promise<void>((resolve) => ends.set(item, resolve));
        return `result ${item}`;
      },
    );
    const first = results.next();
    expect(started).toEqual([1, 2]);
    ends.get(2)?.();
    expect((await first).value).toBe('result 2');
    const second = results.next();
    expect(started).toEqual([1, 2, 3]);
    ends.get(3)?.();
    expect((await second).value).toBe('result 3');
    const rest = [results.next(), results.next(), results.next()];
    ends.get(1)?.();
    await rest[0];
    ends.get(4)?.();
    expect((await Promise.all(rest)).map(({ value }) => value)).toEqual(['result 1', 'result 4', undefined]);
    expect(started).toEqual([1, 2, 3, 4]);
  });

  it('starts nothing more once it is stopped, and ends with what was started', async () => {
    const started: number[] = [];
    const found: number[] = [];
    const results = inCompletionOrder(
      [1, 2, 3, 4, 5],
      2,
      () => found.length > 0,
      async (item) => {
        started.push(item);
        return item;
      },
    );
    for await (const result of results) found.push(result);
    expect([started, found]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });
});
