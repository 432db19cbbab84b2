import { expect, it } from 'vitest';
import { renderSheet, type Section } from '../../src/terminal/sheet.ts';

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

it('renders plain fields off a terminal', async () => {
  expect(await renderSheet(sections, { tty: false, width: 80, now: 0 })).toBe('ID\tr1\nError\ttwo\\nlines\nMessages\t\n');
});
