import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import type { View } from '../../src/terminal/cell.ts';
import { renderRecord } from '../../src/terminal/record.ts';
import { loadStyles, resolveMarkup } from '../../src/terminal/style.ts';
import { type Column, renderTable } from '../../src/terminal/table.ts';
import { hostileInput, sanitizedHostileText } from './fake-streams.ts';

const now = Date.parse('2026-07-18T12:00:00Z');
const view = (width: number): View => ({ tty: true, width, now });
const pipedView: View = { tty: false, width: 80, now };

interface Row {
  id: string;
  status: string;
  title: string;
  messages: number;
  started_at: string | null;
}
const columns: Column<Row>[] = [
  { header: 'ID', value: (row) => row.id },
  { header: 'STATUS', value: (row) => row.status, style: 'status' },
  { header: 'TITLE', value: (row) => row.title, shrink: true },
  { header: 'MESSAGES', value: (row) => row.messages, align: 'right' },
  { header: 'STARTED', value: (row) => row.started_at, time: true },
];
const rows: Row[] = [
  { id: 'run_1', status: 'completed', title: 'Check the invoices of July', messages: 12, started_at: '2026-07-18T11:57:00Z' },
  { id: 'run_2', status: 'waiting', title: '請求書を確認する 👩‍👩‍👧 🫠', messages: 3, started_at: '2026-07-18T09:00:00Z' },
  { id: 'run_3', status: 'failed', title: `line one\nline two\t${'x'.repeat(80)}`, messages: 1_204, started_at: null },
];

describe('table', () => {
  test('shows all columns in full at 120 columns', async () => {
    expect(await renderTable(rows.slice(0, 2), columns, view(120))).toMatchInlineSnapshot(`
      "ID     STATUS     TITLE                       MESSAGES  STARTED
      run_1  completed  Check the invoices of July        12  3m ago
      run_2  waiting    請求書を確認する 👩‍👩‍👧 🫠             3  3h ago
      "
    `);
  });

  test('truncates the title at 80 columns', async () => {
    const text = await renderTable(rows, columns, view(80));
    expect(text).toMatchInlineSnapshot(`
      "ID     STATUS     TITLE                                        MESSAGES  STARTED
      run_1  completed  Check the invoices of July                         12  3m ago
      run_2  waiting    請求書を確認する 👩‍👩‍👧 🫠                              3  3h ago
      run_3  failed     line one\\nline two\\txxxxxxxxxxxxxxxxxxxxxx…      1204
      "
    `);
    for (const line of text.trimEnd().split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(80);
  });

  test('becomes blocks at 40 columns', async () => {
    expect(await renderTable(rows.slice(0, 2), columns, view(40))).toMatchInlineSnapshot(`
      "ID:       run_1
      STATUS:   completed
      TITLE:    Check the invoices of July
      MESSAGES: 12
      STARTED:  3m ago

      ID:       run_2
      STATUS:   waiting
      TITLE:    請求書を確認する 👩‍👩‍👧 🫠
      MESSAGES: 3
      STARTED:  3h ago
      "
    `);
  });

  test('shows a column only on terminals that are wide enough for it, and always elsewhere', async () => {
    const table: Column<string>[] = [
      { header: 'A', value: (row) => row },
      { header: 'B', value: () => 'b', minViewWidth: 50 },
    ];
    expect(await renderTable(['a'], table, view(49))).toBe('A\na\n');
    expect(await renderTable(['a'], table, view(50))).toBe('A  B\na  b\n');
    expect(await renderTable(['a'], table, { ...pipedView, width: 49 })).toBe('a\tb\n');
  });

  test('has a bold header, and cells in the format and style of their column', async () => {
    const table: Column<number>[] = [
      { header: 'SIZE', value: (row) => row, show: (value, { tty }) => `${value}${tty ? ' bytes' : ''}`, style: 'accent' },
      { header: 'N', value: (row) => row },
    ];
    const styles = await loadStyles(true);
    const text = resolveMarkup(await renderTable([7], table, { ...view(80), styles })).replaceAll('\u001b', '^');
    expect(text).toBe('^[1mSIZE^[22m     ^[1mN^[22m\n^[36m7 bytes^[39m  7\n');
    expect(await renderTable([7], table, pipedView)).toBe('7\t7\n');
  });

  test('shortens only columns that may be, all of them evenly, and none below its minimum', async () => {
    const table = (more: Partial<Column<string>> = {}): Column<string>[] => [
      { header: 'ID', value: () => 'i'.repeat(10) },
      { header: 'A', value: (row) => row, shrink: true },
      { header: 'B', value: (row) => row, shrink: true, ...more },
    ];
    const widths = async (width: number, more?: Partial<Column<string>>) =>
      (await renderTable(['x'.repeat(30)], table(more), view(width)))
        .split('\n')[1]
        ?.split(/ +/)
        .map((cell) => cell.length);
    expect(await widths(74)).toEqual([10, 30, 30]);
    expect(await widths(54)).toEqual([10, 20, 20]);
    expect(await widths(53)).toEqual([10, 19, 20]);
    expect(await widths(30)).toEqual([10, 8, 8]);
    expect(await widths(42, { min: 20 })).toEqual([10, 8, 20]);
    expect(await widths(30, { min: 6 })).toEqual([10, 8, 8]);
    expect(await widths(28, { min: 6 })).toEqual([10, 8, 6]);
    // A header is not shortened.
    expect(await widths(34, { header: 'TWELVE CHARS' })).toEqual([10, 8, 12]);
    // Nothing fits any more, so the row becomes a block.
    expect(await renderTable(['x'], [{ header: 'ID', value: () => 'i'.repeat(10) }], view(9))).toBe('ID: iiiiiiiiii\n');
  });

  test('shows a column without a header as a mark, or omits it, at 40 columns', async () => {
    const markedColumns: Column<{ id: string; mark: string }>[] = [
      { header: 'ID', value: (row) => row.id },
      { header: '', value: (row) => row.mark },
      { header: 'A LONG HEADER THAT DOES NOT FIT THE WIDTH', value: () => 'x' },
    ];
    const data = [
      { id: 'a', mark: 'current' },
      { id: '', mark: '' },
    ];
    const header = 'A LONG HEADER THAT DOES NOT FIT THE WIDTH:';
    const indent = ' '.repeat(header.length + 1);
    expect(await renderTable(data, markedColumns, view(40))).toBe(
      `${'ID:'.padEnd(indent.length)}a\n${indent}current\n${header} x\n\n${'ID:'.padEnd(indent.length)}-\n${header} x\n`,
    );
  });

  test('is tab-separated, exact and without a header when pipedView', async () => {
    expect(await renderTable(rows, columns, pipedView)).toBe(
      [
        'run_1\tcompleted\tCheck the invoices of July\t12\t2026-07-18T11:57:00Z\n',
        'run_2\twaiting\t請求書を確認する 👩‍👩‍👧 🫠\t3\t2026-07-18T09:00:00Z\n',
        `run_3\tfailed\tline one\\nline two\\t${'x'.repeat(80)}\t1204\t\n`,
      ].join(''),
    );
  });

  test('is empty without rows', async () => {
    expect(await renderTable([], columns, view(80))).toBe('');
  });

  test('sanitises hostile cells', async () => {
    const text = await renderTable([{ ...(rows[0] as Row), title: hostileInput }], columns, view(200));
    expect(text).toContain(sanitizedHostileText);
  });

  test('never has a line wider than the terminal, and aligns its columns', async () => {
    const cell = fc.oneof(fc.string(), fc.constantFrom('日本語'.repeat(9), '👩‍👩‍👧🫠👍🏽'.repeat(4), 'e\u0301'.repeat(30), ''));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ a: cell, b: cell }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 24, max: 120 }),
        async (data, width) => {
          const table: Column<{ a: string; b: string }>[] = [
            { header: 'A', value: (row) => row.a, shrink: true },
            { header: 'B', value: (row) => row.b, shrink: true },
            { header: 'END', value: () => '|' },
          ];
          const lines = (await renderTable(data, table, view(width))).trimEnd().split('\n');
          for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
          const lineWidths = new Set(lines.slice(1).map((line) => stringWidth(line)));
          expect(lineWidths.size).toBe(1);
        },
      ),
    );
  });
});

describe('record', () => {
  const fields = [
    { label: 'ID', value: 'run_1' },
    { label: 'Status', value: 'waiting', style: 'status' as const },
    { label: 'Started', value: '2026-07-18T11:59:00Z', time: true },
    { label: 'Labels', value: ['a', 'b'] },
    { label: 'Schedule', value: null },
    { label: 'Left out', value: undefined },
    { label: 'Shared', value: true },
    { label: 'Prompt', value: 'first\nsecond\u001b[2J\n' },
  ];

  test('aligns its values on a terminal', async () => {
    expect(await renderRecord(fields, view(80))).toMatchInlineSnapshot(`
      "ID:       run_1
      Status:   waiting
      Started:  1m ago
      Labels:   a, b
      Schedule: -
      Shared:   yes
      Prompt:   first
                second^[[2J
      "
    `);
  });

  test('is tab-separated when pipedView', async () => {
    expect(await renderRecord(fields, pipedView)).toMatchInlineSnapshot(`
      "ID	run_1
      Status	waiting
      Started	2026-07-18T11:59:00Z
      Labels	a, b
      Schedule	
      Shared	true
      Prompt	first\\nsecond^[[2J\\n
      "
    `);
  });
});

describe('long values of a record', () => {
  const renderAt = (width: number, value: string): Promise<string> => renderRecord([{ label: 'A', value }], { tty: true, width, now: 0 });

  test('are wrapped between words and indented below the first line', async () => {
    expect(await renderAt(20, 'one two three four five six')).toBe('A: one two three\n   four five six\n');
    expect(await renderAt(20, '  - a list item that is long')).toBe('A:   - a list item\n     that is long\n');
  });

  test('keep words whole that are meant to be copied, and break scripts without spaces', async () => {
    expect(await renderAt(20, 'see https://agents.example.com/hook now')).toBe('A: see\n   https://agents.example.com/hook\n   now\n');
    expect(await renderAt(20, '請求書を三件支払いますか')).toBe('A: 請求書を三件支払\n   いますか\n');
  });

  test('are not wrapped for a terminal that is too narrow', async () => {
    expect(await renderAt(5, 'one two three')).toBe('A: one two\n   three\n');
  });
});
