/** Test results as JUnit XML, in the form that CI systems read: https://github.com/testmoapp/junitxml. Pure. */
import type { TestRow } from './rows.ts';

/** @param seconds of the whole command */
export function junitXml(rows: readonly TestRow[], seconds: number): string {
  const files = [...new Set(rows.map(({ file }) => file))];
  const suites = files.flatMap((file) =>
    suite(
      file,
      rows.filter((row) => row.file === file),
    ),
  );
  const totals = attributes({ name: 'aops agents test', ...counts(rows), time: duration(seconds) });
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites ${totals}>`, ...suites, '</testsuites>', ''].join('\n');
}

function suite(file: string, rows: readonly TestRow[]): string[] {
  const seconds = rows.reduce((sum, row) => sum + row.seconds, 0);
  return [
    `  <testsuite ${attributes({ name: file, ...counts(rows), time: duration(seconds) })}>`,
    ...rows.flatMap(testcase),
    '  </testsuite>',
  ];
}

function testcase(row: TestRow): string[] {
  const opening = `    <testcase ${attributes({ name: row.name, classname: row.file, file: row.file, line: row.line, time: duration(row.seconds) })}`;
  if (row.status === 'passed') return [`${opening}/>`];
  if (row.status === 'skipped') return [`${opening}>`, '      <skipped/>', '    </testcase>'];
  // Readers show only the first failure of a test.
  const text = row.failures.map(({ message, diff }) => (diff === null ? message : `${message}\n${diff}`)).join('\n');
  const message = row.failures.map((failure) => failure.message.split('\n', 1)[0]).join(' ');
  return [
    `${opening}>`,
    `      <failure ${attributes({ message, type: row.failures[0]?.expectation ?? 'status' })}>${escapeXml(text)}</failure>`,
    '    </testcase>',
  ];
}

const counts = (rows: readonly TestRow[]) => ({
  tests: rows.length,
  failures: rows.filter(({ status }) => status === 'failed').length,
  errors: 0,
  skipped: rows.filter(({ status }) => status === 'skipped').length,
});

const duration = (seconds: number): string => seconds.toFixed(3);

const attributes = (values: Record<string, string | number>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}="${escapeXml(String(value)).replaceAll('\n', '&#10;').replaceAll('\t', '&#9;')}"`)
    .join(' ');

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Whether XML 1.0 (section 2.2) allows a code point. */
const isAllowed = (code: number): boolean =>
  code >= 0x20 ? code < 0xd800 || (code >= 0xe000 && code !== 0xfffe && code !== 0xffff) : code === 9 || code === 10 || code === 13;

/** A CR becomes a reference, because parsers would turn it into a line feed. */
const escapeXml = (text: string): string =>
  [...text]
    .map((character) => (isAllowed(character.codePointAt(0) as number) ? character : '\ufffd'))
    .join('')
    .replace(/[&<>"]/g, (character) => entities[character] as string)
    .replaceAll('\r', '&#13;');
