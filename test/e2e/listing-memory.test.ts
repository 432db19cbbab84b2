/** The memory that printing a long list takes. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { Machine, needsScript } from '../support/machine.ts';
import { itNeeding } from '../support/requirements.ts';
import { whenDone } from '../support/temporary.ts';

const id = '00000000-0000-4000-8000-000000000000';
const row = (index: number) => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  ...{ agent_id: id, agent_name: 'invoice-check', build_id: id, status: 'completed', source: 'api', title: `Invoices of day ${index}` },
  ...{ run_number: index, created_at: '2026-11-20T08:00:00.000Z', updated_at: '2026-11-20T08:00:02.000Z', sandbox_id: id },
  ...{ human_in_the_loop_enabled: true, pending_human_request: null, submitted_prompt_count: 1 },
});

/** The address of a service whose teams are called by the number of their runs. */
async function listService(): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const total = Number(/teams\/(\d+)\//.exec(url.pathname)?.[1]);
    const offset = Number(url.searchParams.get('offset') ?? 0);
    const limit = Math.min(Number(url.searchParams.get('limit') ?? 20), total - offset);
    const body = JSON.stringify({ data: Array.from({ length: limit }, (_, index) => row(offset + index)), total });
    response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': randomUUID() }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const hookScript = `
const v8 = require('node:v8');
process.on('exit', () => {
  const { space_size } = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  process.stderr.write('new space ' + space_size);
});`;

itNeeding(needsScript, 'the part of the heap for new objects stays small while 30,000 runs are listed', async () => {
  const machine = await Machine.create();
  const hook = await machine.file('new-space.cjs', hookScript);
  Object.assign(machine.env, { AOPS_BASE_URL: await listService(), AOPS_API_KEY: 'key', NODE_OPTIONS: `--require=${hook}` });
  const { code, stdout, stderr } = await machine.aops('runs', 'list', '--team', '30000', '--all', '-o', 'ndjson');
  expect([code, stdout.split('\n').length - 1]).toEqual([0, 30_000]);
  // It would grow to 16 MB or 32 MB.
  expect(Number(/^new space (\d+)$/.exec(stderr)?.[1])).toBeLessThanOrEqual(8 * 1_048_576);
});
