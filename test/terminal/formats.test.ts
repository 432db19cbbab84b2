import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { View } from '../../src/terminal/cell.ts';
import { toCsv } from '../../src/terminal/csv.ts';
import { selectFields } from '../../src/terminal/fields.ts';
import { type RenderOptions, renderData } from '../../src/terminal/formats.ts';
import { sanitize } from '../../src/terminal/sanitize.ts';
import { hostileInput } from './fake-streams.ts';

const pipedView: View = { tty: false, width: 80, now: 0 };
const onTerminal: View = { ...pipedView, tty: true };
const list = {
  data: [
    { id: 'run_1', status: 'completed', agent: { id: 'a_1', name: 'Ana, "the" agent' }, questions: [{ question: 'q1', multi: true }] },
    { id: 'run_2', status: 'waiting', agent: null, questions: [] },
  ],
  total: 2,
  limit: 20,
  offset: 0,
};
const render = (data: unknown, options: Partial<RenderOptions> & Pick<RenderOptions, 'format'>) =>
  renderData(data, { view: pipedView, ...options });

describe('json and ndjson', () => {
  test('are compact when piped, indented on a terminal, and always the same value', async () => {
    expect(await render(list, { format: 'json' })).toBe(`${JSON.stringify(list)}\n`);
    expect(await render(list, { format: 'json', view: onTerminal })).toBe(`${JSON.stringify(list, undefined, 2)}\n`);
    expect(await render(undefined, { format: 'json' })).toBe('null\n');
  });

  test('put one element on each line of ndjson', async () => {
    expect(await render(list, { format: 'ndjson', view: onTerminal })).toBe(list.data.map((row) => `${JSON.stringify(row)}\n`).join(''));
    expect(await render({ id: 1 }, { format: 'ndjson' })).toBe('{"id":1}\n');
    expect(await render({ data: [] }, { format: 'ndjson' })).toBe('');
  });

  test('are escaped on a terminal and exact in a pipe', async () => {
    const text = await render({ text: hostileInput }, { format: 'json', view: onTerminal });
    expect(text).not.toMatch(/[\u0080-\u009f\u202e\u007f]/);
    expect(JSON.parse(text)).toEqual({ text: hostileInput });
    expect(await render({ text: '\u202e' }, { format: 'json' })).toBe('{"text":"\u202e"}\n');
  });
});

describe('yaml, csv and id', () => {
  test('yaml', async () => {
    expect(parse(await render(list, { format: 'yaml' }))).toEqual(list);
    expect(parse(await render(list, { format: 'yaml', fields: 'id' }))).toEqual({ ...list, data: [{ id: 'run_1' }, { id: 'run_2' }] });
    const output = await render({ a: hostileInput }, { format: 'yaml', view: onTerminal });
    expect(sanitize(output)).toBe(output);
  });

  test('csv has a header of all keys, and nested values as JSON', async () => {
    expect(
      await render(
        [
          { a: 1, b: { c: 2 } },
          { a: null, d: 'x,y' },
        ],
        { format: 'csv' },
      ),
    ).toBe('a,b,d\r\n1,"{""c"":2}",\r\n,,"x,y"\r\n');
    expect(await render(list, { format: 'csv', fields: 'id,agent.name' })).toBe(
      'id,agent.name\r\nrun_1,"Ana, ""the"" agent"\r\nrun_2,\r\n',
    );
    expect(await render({ data: [] }, { format: 'csv', fields: 'id' })).toBe('id\r\n');
    expect(await render(list, { format: 'csv', fields: 'questions.question' })).toBe('questions.question\r\n"[""q1""]"\r\n[]\r\n');
    // Texts and prototypes have members, too.
    expect(await render([{ id: { length: 1 } }, { id: 'abc' }], { format: 'csv', fields: 'id.length' })).toBe('id.length\r\n1\r\n\r\n');
    expect(await render([{ constructor: 1 }, { id: 2 }], { format: 'csv', fields: 'constructor' })).toBe('constructor\r\n1\r\n\r\n');
  });

  test.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['cr\r', '"cr\r"'],
    [' blank ', '" blank "'],
    ['=1+1', '=1+1'],
    [null, ''],
    [false, 'false'],
    [0, '0'],
    [['a', 1], '"[""a"",1]"'],
  ])('csv field %j', (value, expected) => {
    expect(toCsv(['h'], [[value]])).toBe(`h\r\n${expected}\r\n`);
  });

  test('id prints one ID per line', async () => {
    expect(await render(list, { format: 'id' })).toBe('run_1\nrun_2\n');
    expect(await render({ name: 'x' }, { format: 'id', idField: 'name' })).toBe('x\n');
    await expect(render({ name: 'x' }, { format: 'id' })).rejects.toMatchObject({ code: 'no_id', exit: 2 });
  });

  test('table shows all fields', async () => {
    expect(await render(list, { format: 'table', fields: 'id,agent.name', view: onTerminal })).toBe(
      'id     agent.name\nrun_1  Ana, "the" agent\nrun_2\n',
    );
    expect(await render(list, { format: 'table' })).toContain('run_2\twaiting\t\t\n');
  });
});

describe('unusual results', () => {
  test.each<[string, unknown, Partial<RenderOptions> & Pick<RenderOptions, 'format'>, string]>([
    ['nothing', undefined, { format: 'ndjson' }, ''],
    ['null', null, { format: 'csv' }, '\r\n'],
    ['null as JSON', null, { format: 'json' }, 'null\n'],
    ['plain values', ['a', 1], { format: 'csv' }, 'value\r\na\r\n1\r\n'],
    ['plain values among objects', ['a', { value: 2, b: 3 }], { format: 'csv' }, 'value,b\r\na,\r\n2,3\r\n'],
    ['a text', 'a', { format: 'table' }, 'a\n'],
    ['an array', [{ data: [1] }], { format: 'ndjson' }, '{"data":[1]}\n'],
    ['an object whose data is not a list', { data: 'x' }, { format: 'ndjson' }, '{"data":"x"}\n'],
    ['keys with dots', [{ 'a.b': 1, a: { b: 2 } }], { format: 'csv' }, 'a.b,a\r\n1,"{""b"":2}"\r\n'],
    ['keys of prototypes', [{ constructor: 1 }, { toString: 2 }], { format: 'csv' }, 'constructor,toString\r\n1,\r\n,2\r\n'],
    ['IDs that are numbers', [{ id: 1 }, { id: 'b' }], { format: 'id' }, '1\nb\n'],
    ['an ID on two lines in a pipe', [{ id: 'a\nb' }], { format: 'id' }, 'a\nb\n'],
    ['an ID on two lines on a terminal', [{ id: 'a\nb' }], { format: 'id', view: onTerminal }, 'a\\nb\n'],
    ['some fields as NDJSON', list, { format: 'ndjson', fields: 'id' }, '{"id":"run_1"}\n{"id":"run_2"}\n'],
    ['some fields, filtered', list, { format: 'json', fields: 'id', jq: '.data[1] | keys[]' }, 'id\n'],
  ])('%s', async (_, data, options, text) => {
    expect(await render(data, options)).toBe(text);
  });

  test('without an ID have none to print', async () => {
    for (const data of [['a'], [null], [{ id: { a: 1 } }], [{ id: 'x' }, {}]])
      await expect(render(data, { format: 'id' })).rejects.toMatchObject({ code: 'no_id' });
    expect(await render([{ id: null }, { id: 'x' }, { id: null }], { format: 'id' })).toBe('x\n');
  });
});

describe('--fields', () => {
  test('reduces each element, through objects and lists', async () => {
    expect(JSON.parse(await render(list, { format: 'json', fields: 'id,agent.name,questions.question' }))).toEqual({
      ...list,
      data: [
        { id: 'run_1', agent: { name: 'Ana, "the" agent' }, questions: [{ question: 'q1' }] },
        { id: 'run_2', agent: null, questions: [] },
      ],
    });
    expect(await render(list.data[0], { format: 'json', fields: ' status , id ' })).toBe('{"status":"completed","id":"run_1"}\n');
  });

  test('prefers a whole object to a part of it', () => {
    expect(selectFields({ a: { b: 1, c: 2 } }, ['a.b', 'a'])).toEqual({ a: { b: 1, c: 2 } });
    expect(selectFields({ a: { b: 1, c: 2, d: 3 } }, ['a.b', 'a.d'])).toEqual({ a: { b: 1, d: 3 } });
  });

  test('suggests the field that was probably meant', async () => {
    const hintFor = (fields: string) => render(list, { format: 'json', fields }).catch((error) => error.hint);
    expect(await hintFor('id,staus')).toBe('Did you mean status? Fields: agent, id, questions, status.');
    // The first part of this one exists.
    expect(await hintFor('agent.nme')).toBe('Fields: agent, id, questions, status.');
  });

  test.each(['nope', 'agent.nope', 'id.x', 'id.length', 'questions.nope', 'constructor', '__proto__'])(
    'unknown field %s lists the known ones',
    async (fields) => {
      await expect(render(list, { format: 'json', fields })).rejects.toMatchObject({
        code: 'unknown_field',
        exit: 2,
        hint: 'Fields: agent, id, questions, status.',
      });
    },
  );

  test('accepts fields that are optional or empty', async () => {
    expect(await render({ data: [] }, { format: 'json', fields: 'anything' })).toBe('{"data":[]}\n');
    expect(await render([{ id: 1 }], { format: 'json', fields: 'notes', knownFields: ['id', 'notes'] })).toBe('[{"notes":null}]\n');
    await expect(render({ data: [] }, { format: 'json', fields: 'nope', knownFields: ['id'] })).rejects.toMatchObject({
      code: 'unknown_field',
    });
    expect(await render([{ a: null }], { format: 'json', fields: 'a.b' })).toBe('[{"a":null}]\n');
    expect(await render([{ a: [] }], { format: 'json', fields: 'a.b' })).toBe('[{"a":[]}]\n');
    expect(await render([{ a: [{ x: 1 }, { b: 2 }] }], { format: 'json', fields: 'a.b' })).toBe('[{"a":[{"b":null},{"b":2}]}]\n');
    expect(await render(['a', null], { format: 'json', fields: 'b' })).toBe('["a",null]\n');
  });

  test.each(['', 'a,,b', 'a..b', '.a'])('%j is refused', async (fields) => {
    const message = '--fields expects field names separated by commas.';
    await expect(render(list, { format: 'json', fields })).rejects.toMatchObject({ exit: 2, message });
  });
});

describe('--jq', () => {
  test.each([
    ['.data[].id', 'run_1\nrun_2\n'],
    ['.total', '2\n'],
    ['.data | length', '2\n'],
    ['[.data[].status]', '["completed","waiting"]\n'],
    ['empty', ''],
    ['"  blank  ", ""', '  blank  \n\n'],
    ['-.total', '-2\n'],
    ['100000000000000000001', '100000000000000000001\n'],
  ])('%s', async (jq, expected) => {
    expect(await render(list, { format: 'json', jq })).toBe(expected);
  });

  test('is indented on a terminal and applied after --fields', async () => {
    expect(await render(list, { format: 'json', jq: '.data[0]', fields: 'id', view: onTerminal })).toBe('{\n  "id": "run_1"\n}\n');
  });

  test('prints numbers as jq does, also on a terminal, and accepts an empty result', async () => {
    expect(await render(list, { format: 'json', jq: '100000000000000000001', view: onTerminal })).toBe('100000000000000000001\n');
    expect(await render(undefined, { format: 'json', jq: '.' })).toBe('null\n');
  });

  test('its strings cannot steer a terminal', async () => {
    expect(await render({ text: 'a\u001b[2Jb' }, { format: 'json', jq: '.text', view: onTerminal })).toBe('a^[[2Jb\n');
    expect(await render({ text: 'a\u001b[2Jb' }, { format: 'json', jq: '.text' })).toBe('a\u001b[2Jb\n');
  });

  test.each([
    ['.data[', 'syntax error'],
    ['.total.x', 'Cannot index number'],
    // The output of the first must not hide the failure of the second.
    ['1, error("boom")', 'boom'],
  ])('%s fails with the error message of jq', async (jq, message) => {
    await expect(render(list, { format: 'json', jq })).rejects.toMatchObject({
      code: 'jq_failed',
      exit: 2,
      message: expect.stringContaining(message),
    });
  });

  test('is fast for large results', async () => {
    const largeResult = { data: Array.from({ length: 20_000 }, (_, id) => ({ id, text: 'x'.repeat(50) })) };
    expect(await render(largeResult, { format: 'json', jq: '.data | length' })).toBe('20000\n');
  }, 5_000);
});
