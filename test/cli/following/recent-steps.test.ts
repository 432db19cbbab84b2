/** What is shown of a run above the prompt of its request. */
import { expect, it } from 'vitest';
import { maxLines, recentSteps } from '../../../src/cli/following/recent-steps.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import { fakeTerminal } from '../../terminal/fake-streams.ts';

const message = (text: string, index: number) => ({ id: `m${index}`, type: 'agent_message', role: 'assistant', text_content: text });

/** The lines for a run with these messages, and the pages that were read. */
async function stepsOf(texts: readonly string[], { columns = 40, fault }: { columns?: number; fault?: Error } = {}) {
  const pages: [number, number][] = [];
  const messages = texts.map(message);
  const client = {
    call: async (_: string, { query }: { query: { limit: number; offset: number } }) => {
      pages.push([query.offset, query.limit]);
      if (fault !== undefined) throw fault;
      return { messages: messages.slice(query.offset, query.offset + query.limit), total: messages.length };
    },
  };
  const signal = new AbortController();
  const { terminal } = fakeTerminal({ tty: true, columns });
  const context = { terminal, signal: signal.signal } as unknown as Context;
  const read = () => recentSteps(context, client as never, 'r1');
  return { lines: await read(), pages, signal, read };
}

it('leaves the prompt most of the screen', () => {
  expect([undefined, 100, 40, 39, 24, 23, 10].map((rows) => maxLines(rows))).toEqual([8, 8, 8, 5, 5, 2, 2]);
});

it('is the last messages, of which only the newest are read', async () => {
  const texts = Array.from({ length: 13 }, (_, index) => `step ${index}`);
  const many = await stepsOf(texts);
  expect(many.lines).toEqual(texts.slice(-8).map((text) => expect.stringContaining(text)));
  expect(many.pages).toEqual([
    [0, 12],
    [1, 12],
  ]);
  const few = await stepsOf(texts.slice(0, 12));
  expect(few.lines.at(-1)).toContain('step 11');
  expect(few.pages).toEqual([[0, 12]]);
  expect((await stepsOf([])).lines).toEqual([]);
});

it('is cut to the width of the screen, without empty lines', async () => {
  const { lines } = await stepsOf(['x'.repeat(60), ' \n\nend'], { columns: 30 });
  expect(lines.map((line) => line.length)).toEqual(lines.map((line) => Math.min(line.length, 30)));
  expect(lines[0]).toMatch(/^ {2}.*x…$/);
  expect(lines.every((line) => line.trim() !== '')).toBe(true);
});

it('is nothing if it cannot be read, unless the command was interrupted', async () => {
  const { lines, signal, read } = await stepsOf([], { fault: new Error('The service cannot be reached.') });
  expect(lines).toEqual([]);
  const reason = new Error('Ctrl-C');
  signal.abort(reason);
  await expect(read()).rejects.toBe(reason);
});
