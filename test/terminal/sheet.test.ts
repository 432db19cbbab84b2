import { expect, it } from 'vitest';
import { renderSheet, type Section } from '../../src/terminal/sheet.ts';
import { loadStyles, resolveMarkup } from '../../src/terminal/style.ts';

const sections: Section[] = [
  {
    title: 'Run',
    fields: [
      { label: 'ID', value: 'r1' },
      { label: 'Error', value: 'two\nlines' },
    ],
  },
  { title: 'Nothing', fields: [{ label: 'Gone', value: undefined }] },
  { title: 'Conver\u001bsation', fields: [{ label: 'Messages', value: null }] },
];

it('aligns the values of all sections, and omits empty sections', async () => {
  expect(await renderSheet(sections, { tty: true, width: 80, now: 0 })).toBe(
    `Run
  ID:       r1
  Error:    two
            lines

Conver^[sation
  Messages: -
`,
  );
});

it('has bold titles, and lines that fit', async () => {
  const styles = await loadStyles(true);
  const section = { title: 'Run', fields: [{ label: 'ID', value: 'one two three' }] };
  expect(resolveMarkup(await renderSheet([section], { tty: true, width: 20, now: 0, styles })).replaceAll('\u001b', '^')).toBe(
    '^[1mRun^[22m\n  ^[2mID:^[22m one two three\n',
  );
  expect(await renderSheet([section], { tty: true, width: 18, now: 0 })).toBe('Run\n  ID: one two\n      three\n');
});

it('renders plain fields off a terminal', async () => {
  expect(await renderSheet(sections, { tty: false, width: 80, now: 0 })).toBe('ID\tr1\nError\ttwo\\nlines\nMessages\t\n');
});
