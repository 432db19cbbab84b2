/** Which messages may change something: only these carry an idempotency key. */
import { expect, it } from 'vitest';
import { ReadOnlyTools } from '../../../src/client/mcp/read-only-tools.ts';

const listed = (...tools: unknown[]) => ({ value: { result: { tools } } }) as never;
const call = (name: string, method = 'tools/call') => ({ jsonrpc: '2.0', id: 1, method, params: { name } }) as never;
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as never;

it('calls are changes, except those of tools that the service lists as read-only', () => {
  const tools = new ReadOnlyTools();
  expect([tools.isChange(call('get_run')), tools.isChange(list)]).toEqual([true, false]);
  tools.learn(list, listed({ name: 'get_run', annotations: { readOnlyHint: true } }, { name: 'start_run' }, { annotations: {} }, null));
  expect([tools.isChange(call('get_run')), tools.isChange(call('start_run'))]).toEqual([false, true]);
  // Only calls are about a tool.
  expect(tools.isChange(call('get_run', 'tasks/cancel'))).toBe(true);
  tools.learn(call('x'), listed({ name: 'start_run', annotations: { readOnlyHint: true } }));
  expect(tools.isChange(call('start_run'))).toBe(true);
  tools.learn(list, listed({ name: 'get_run', annotations: { readOnlyHint: false } }));
  expect(tools.isChange(call('get_run'))).toBe(true);
});
