/** Lists of tools, and which tools a policy permits. */
import { expect, it } from 'vitest';
import type { McpSession } from '../../../src/client/mcp/session.ts';
import { listedTools, toolPolicy } from '../../../src/client/mcp/tool-policy.ts';
import { type ListedTool, listTools } from '../../../src/client/mcp/tools.ts';

const tool = (name: string, readOnlyHint = false): ListedTool => ({ name, inputSchema: {}, annotations: { readOnlyHint } });

/** The tools of a service that answers one page after the other, and the cursors that were requested. */
async function listed(pageOf: (page: number) => Record<string, unknown>) {
  const cursors: unknown[] = [];
  const session = {
    request: async ({ params }: { params?: { cursor: string } }) => pageOf(cursors.push(params?.cursor) - 1),
  } as unknown as McpSession;
  return { tools: (await listTools(session)).map(({ name }) => name), cursors };
}

it('what is no tool is left out of a list', async () => {
  const { tools, cursors } = await listed(() => ({
    tools: [tool('a'), null, 'b', { name: 'c' }, { inputSchema: {} }, { name: 1, inputSchema: {} }],
  }));
  expect([tools, cursors]).toEqual([['a'], [undefined]]);
});

it('a list ends with the page that names no other, or itself', async () => {
  const endings = [null, 'next'];
  for (const ending of endings) {
    const { tools, cursors } = await listed((page) => ({ tools: [tool(`t${page}`)], nextCursor: page === 0 ? 'next' : ending }));
    expect([tools, cursors]).toEqual([
      ['t0', 't1'],
      [undefined, 'next'],
    ]);
  }
});

it('a list that never ends is read up to its 100th page', async () => {
  const { tools } = await listed((page) => ({ tools: [tool(`t${page}`)], nextCursor: `c${page}` }));
  expect(tools).toHaveLength(100);
});

it('a policy names the patterns that match nothing, and those that match only what changes something', () => {
  const tools = [tool('read_a', true), tool('write_a'), tool('write_b')];
  const allow = ['read_*', '*_a', 'write_*', 'none'];
  const { policy, unknown, excluded } = toolPolicy(tools, { readOnly: true, allow });
  expect([...(policy.permitted ?? [])]).toEqual(['read_a']);
  expect([unknown, excluded]).toEqual([['none'], ['write_*']]);
  expect(toolPolicy(tools, { readOnly: false, allow })).toMatchObject({ unknown: ['none'], excluded: [] });
});

it('what is no tool is left out of a list that is passed on, and another result is unchanged', () => {
  const result = { tools: [null, 'a', { name: 1 }, { name: 'a', extra: 1 }, { name: 'b' }], nextCursor: 'c' };
  expect(listedTools(result, (name) => name === 'a')).toEqual({ tools: [{ name: 'a', extra: 1 }], nextCursor: 'c' });
  expect(listedTools({ tools: 'none' }, () => true)).toEqual({ tools: 'none' });
});
