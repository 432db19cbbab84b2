import { describe, expect, test } from 'vitest';
import { blockText, cellText, paint, type View, withLink } from '../../src/terminal/cell.ts';
import { renderRecord } from '../../src/terminal/record.ts';
import { linkMarkup, loadStyles, resolveMarkup } from '../../src/terminal/style.ts';

const styles = await loadStyles(true);
const pipedView: View = { tty: false, width: 80, now: Date.parse('2026-07-18T09:00:00.000Z') };
const onTerminal: View = { ...pipedView, tty: true, styles };

describe('a value', () => {
  test.each<[unknown, string, string]>([
    [null, '', ''],
    [undefined, '', ''],
    ['', '', ''],
    [0, '0', '0'],
    [true, 'yes', 'true'],
    [false, 'no', 'false'],
    [['a', 1, null, true], 'a, 1, , true', 'a, 1, , true'],
    [[], '', ''],
    [[{ a: 1 }, 'b'], '[{"a":1},"b"]', '[{"a":1},"b"]'],
    [[['a']], '[["a"]]', '[["a"]]'],
    [{ a: [1] }, '{"a":[1]}', '{"a":[1]}'],
    [new Date('2026-07-18T08:57:00.000Z'), '3m ago', '2026-07-18T08:57:00.000Z'],
    ['a\tb\nc\u001b[8m', 'a\\tb\\nc^[[8m', 'a\\tb\\nc^[[8m'],
  ])('%j is shown on one line', (value, display, text) => {
    expect([cellText(value, onTerminal), cellText(value, pipedView)]).toEqual([display, text]);
  });

  test('that is a time is relative on a terminal', () => {
    const time = '2026-07-18T08:57:00.000Z';
    expect([cellText(time, onTerminal, true), cellText(time, onTerminal), cellText(time, pipedView, true)]).toEqual(['3m ago', time, time]);
    expect(blockText(time, onTerminal, true)).toBe('3m ago');
  });

  test('can have several lines', () => {
    expect(blockText('a\nb\tc\u001b[8m\n\n', onTerminal)).toBe('a\nb\tc^[[8m');
  });
});

describe('a style', () => {
  test('is applied to text, but not to blanks or without a style', () => {
    expect(resolveMarkup(paint('text', 'bold', onTerminal))).toBe('\u001b[1mtext\u001b[22m');
    expect(resolveMarkup(paint('failed', 'status', onTerminal))).toBe('\u001b[31mfailed\u001b[39m');
    expect([paint('text', undefined, onTerminal), paint('  ', 'bold', onTerminal), paint('text', 'bold', pipedView)]).toEqual([
      'text',
      '  ',
      'text',
    ]);
  });

  test('is applied to the labels of a record', async () => {
    expect(resolveMarkup(await renderRecord([{ label: 'Title', value: 'Week' }], onTerminal))).toBe('\u001b[2mTitle:\u001b[22m Week\n');
  });
});

test('a link is added to text where the terminal shows links', () => {
  const url = 'https://agents.example.com/runs/1';
  expect(withLink('run', url, { ...onTerminal, links: true })).toBe(linkMarkup('run', url));
  expect(withLink(' ', url, { ...onTerminal, links: true })).toBe(' ');
  expect([withLink('run', url, { ...onTerminal, links: false }), withLink('run', url, onTerminal)]).toEqual(['run', 'run']);
});
