import { describe, expect, test } from 'vitest';
import type { View } from '../../src/terminal/cell.ts';
import { renderData } from '../../src/terminal/formats.ts';
import { hostileInput, sanitizedHostileText } from './fake-streams.ts';

const view: View = { tty: false, width: 80, now: 0 };
const list = {
  data: [
    { id: 'run_1', title: 'a', tags: ['x', 'y'], request: { title: 'Pay?' }, at: '2026-07-18T12:00:00Z' },
    { id: 'run_2', title: null, tags: [], request: null, at: '2026-07-19T12:00:00Z' },
  ],
  total: 2,
};
const render = (template: string, data: unknown = list, options: { view?: View; knownFields?: string[] } = {}): Promise<string> =>
  renderData(data, { format: 'table', view, template, ...options });

describe('--template', () => {
  test.each([
    ['{{ id }}', 'run_1\nrun_2\n'],
    ['{{ id }}\\t{{ title | upcase }}', 'run_1\tA\nrun_2\t\n'],
    ['{{ tags }}', 'x, y\n\n'],
    ['{{ tags.first }}-{{ tags.size }}', 'x-2\n-0\n'],
    ['{{ request }}', '{"title":"Pay?"}\n\n'],
    ['{% if request %}{{ request.title }}{% else %}-{% endif %}', 'Pay?\n-\n'],
    ['{% for tag in tags %}[{{ tag }}]{% endfor %}', '[x][y]\n\n'],
    ["{{ at | date: '%d.%m.' }}\\\\n", '18.07.\\n\n19.07.\\n\n'],
  ])('renders %s for each row', async (template, text) => {
    expect(await render(template)).toBe(text);
  });

  test('is rendered once for a single resource, and for values that have no fields', async () => {
    expect(await render('{{ id }}!', { id: 1 })).toBe('1!\n');
    expect(await render('{{ value }}!', ['a', 'b'])).toBe('a!\nb!\n');
  });

  test.each([
    ['{{ titel }}', 'no field "titel"'],
    ['{{ request.titel }}', 'no field "request.titel"'],
    ['{{ id', '--template, line 1, column 1: output "{{ id" not closed.'],
    ['{{ id | shout }}', 'shout'],
    ["{% include '/etc/passwd' %}", 'include'],
    ["{% render 'x' %}", 'render'],
  ])('rejects %s', async (template, message) => {
    await expect(render(template)).rejects.toMatchObject({ exit: 2, message: expect.stringContaining(message) });
  });

  test('checks the fields of an empty list too', async () => {
    expect(await render('{{ id }}', { data: [] }, { knownFields: ['id'] })).toBe('');
    await expect(render('{{ ids }}', { data: [] }, { knownFields: ['id'] })).rejects.toMatchObject({ code: 'unknown_field' });
  });

  test('does not read inherited properties', async () => {
    expect(await render('{{ request.constructor.name }}', [{ request: null }])).toBe('\n');
    await expect(render('{{ constructor.name }}')).rejects.toMatchObject({ code: 'unknown_field' });
  });

  test('is sanitised on a terminal and exact in a pipe', async () => {
    expect(await render('{{ id }}', { id: hostileInput }, { view: { ...view, tty: true } })).toBe(`${sanitizedHostileText}\n`);
    expect(await render('{{ id }}', { id: hostileInput })).toBe(`${hostileInput}\n`);
  });
});
