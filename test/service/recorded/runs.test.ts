import { it } from 'vitest';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { tarOf } from '../../support/tar.ts';
import { type Behaviour, testRuntime } from '../helpers/runtime.ts';
import { config } from '../helpers/service.ts';
import { receiver } from '../helpers/webhooks.ts';
import { Recording, steps } from './recording.ts';

const png = (name: string) => ({ name, mimeType: 'image/png', bytes: Buffer.from('89504e470d0a1a0a', 'hex') });
const behaviours: Record<string, Behaviour> = {
  browse: async (host) => {
    const startedAt = new Date(host.clock.now() - 400);
    const input = { url: 'https://shop.test/cart', title: 'Cart' };
    await host.commit('work', { ok: true }, [
      { kind: 'thought', id: 'a', text: 'I look at the cart.' },
      { kind: 'plan', id: 'b', text: '1. Look' },
      { kind: 'tool_call', id: 'c', name: 'shop.find', arguments: { id: 7 } },
      { kind: 'tool_result', id: 'd', callId: 'c', result: { total: 12 } },
      { kind: 'tool_call', id: 'e', name: 'shop.pay' },
      { kind: 'tool_result', id: 'f', callId: 'e', error: 'declined' },
      {
        kind: 'screenshot',
        id: 'g',
        toolName: 'browser',
        action: 'click',
        startedAt,
        input,
        before: png('before.png'),
        image: png('after.png'),
      },
      { kind: 'screenshot', id: 'h', toolName: 'browser', startedAt, input, error: 'gone', before: { of: 'g' } },
    ]);
    await host.commit('notes', null, [{ kind: 'notice', id: 'i', text: 'The shop is slow.' }]);
    return { status: 'completed' };
  },
};

it('runs, with their messages, human requests, files, and screenshots', async () => {
  const recording = await Recording.start({ runtimes: [scriptRuntime, testRuntime(behaviours)] });
  const { call } = recording;
  const hook = await receiver();
  recording.nameServer(hook.url, 'receiver');
  const create = async (name: string, build: ReturnType<typeof config>): Promise<string> =>
    (await call('createAgent', { body: { name, build: { name: 'first', config: build } } })).agent.id;
  const asking = await create(
    'Invoices',
    steps(
      'write: { path: notes/today.txt, content: "Message: {{ message }}" }',
      'tool: { id: find, name: erp.find, arguments: { invoice: "{{ message }}" }, result: { amount: 120 } }',
      'tool: { id: book, name: erp.book, error: locked }',
      'say: "That is {{ steps.find.amount }} EUR."',
      'ask: { id: month, questions: [{ question: Which month?, options: [{ label: March }, { label: April, description: This one }] }] }',
      'approve: { id: pay, title: "Pay in {{ answers.month }}?", description: Invoice 7, on_deny: continue }',
      'say: "{{ answers.pay }} {{ steps.pay.reason }}"',
      'sleep: 1m',
      'say: Done.',
    ),
  );
  const browsing = await create('Shop', config('browse'));
  const failing = await create('Broken', steps('fail: "No luck: {{ message }}"'));

  // A run with two human requests, and everything that can be read of it.
  const { sandbox_id } = await call('createSandbox');
  await call('uploadSandboxArchive', { params: { sandbox_id }, body: tarOf({ 'in/a.txt': 'A', 'in/b.txt': 'B' }) });
  const form = new FormData();
  form.append('path', 'in/d.txt');
  form.append('file', new File(['D'], 'd.txt'));
  await call('uploadSandboxFile', { params: { sandbox_id }, body: form });
  await call('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'in/c.txt' } });
  await call('listSandboxFiles', { params: { sandbox_id } });
  await call('listSandboxFiles', { params: { sandbox_id }, query: { path: 'in' } });
  const { run } = await call('startRun', { body: { agent_id: asking, message: 'Invoice 7\nof Acme', sandbox_id, webhook_url: hook.url } });
  const runs = { run_id: run.id };
  const { pending_human_request: question } = await call('getRun', { params: runs });
  const requests = { ...runs, request_id: question?.id as string };
  await call('respondToHumanRequest', { params: requests, body: { approved: true } });
  await call('respondToHumanRequest', { params: requests, body: { answers: { 'Which month?': 'May' } } });
  await call('postRunMessage', { params: runs, body: { message: 'Hurry', expected_human_request_id: run.id } });
  await call('respondToHumanRequest', { params: requests, body: { answers: { 'Which month?': 'April' } } });
  await call('respondToHumanRequest', { params: requests, body: { answers: { 'Which month?': 'March' } } });
  const { pending_human_request: approval } = await call('getRun', { params: runs });
  await call('listRuns', { query: { status: 'needs_attention' } });
  await call('respondToHumanRequest', {
    params: { ...runs, request_id: approval?.id as string },
    body: { approved: false, reason: 'Too much.' },
  });
  await call('getRun', { params: runs });
  await call('postRunMessage', { params: runs, body: { message: 'Wait' } });
  await recording.pass(60_000);
  await call('getRun', { params: runs });
  await call('listRunMessages', { params: runs });
  await call('listRunMessages', { params: runs, query: { limit: 2, offset: 3 } });
  await call('listRunHumanRequests', { params: runs });
  await call('getRunDetail', { params: { agentId: asking, runId: run.id } });
  await call('getWorkflowExecutionReport', { params: { agentId: asking, runId: run.id } });
  await call('listRunSandboxFiles', { params: runs });
  await call('listAgentRunSandboxFiles', { params: { ...runs, agent_id: asking }, query: { path: 'notes' } });
  await call('getRunSandboxFileContent', { params: runs, query: { path: 'notes/today.txt' } });
  await call('getAgentRunSandboxFileContent', { params: { ...runs, agent_id: asking }, query: { path: 'none' } });
  await call('getRunChanges', { params: runs });
  recording.noteDeliveries(hook);
  await call('postRunMessage', { params: runs, body: { message: 'Once more' } });
  await call('getRun', { params: runs });
  await call('stopRun', { params: runs });
  await call('stopRun', { params: runs });
  await call('getRun', { params: runs });
  recording.noteDeliveries(hook);

  // Pictures.
  const { run: shop } = await call('startRun', { body: { agent_id: browsing } });
  const shops = { run_id: shop.id };
  await call('listRunMessages', { params: shops });
  await call('getRunScreenshotTimeline', { params: shops });
  await call('getAgentRunScreenshotTimeline', { params: { ...shops, agent_id: browsing } });
  await call('listBrowserSessionPages', { params: { session_id: shop.id } });
  await call('getWorkflowExecutionReport', { params: { agentId: browsing, runId: shop.id } });

  // Failures, and lists.
  const { run: failed } = await call('startRun', { body: { agent_id: failing, message: 'x' } });
  await call('getRun', { params: { run_id: failed.id } });
  await call('getRunDetail', { params: { agentId: failing, runId: failed.id } });
  await call('startRun', { body: { agent_id: failing, message: 'y', sandbox_id: shop.sandbox_id } });
  await call('startRun', { body: { agent_id: failing, repository: { path: '/nowhere' } } });
  await call('listRuns', {});
  await call('listRuns', { query: { limit: 1, offset: 1, sort_order: 'asc' } });
  await call('listRuns', { query: { search: 'acme' } });
  await call('listRuns', { query: { status: 'failed', agent_id: failing } });
  await call('listRuns', { query: { run_number: 2, include_total: 'false' } });
  await call('listRuns', { query: { since: '2026-07-18T09:00:40Z', count_only: 'true' } });
  await call('getTeamUsage');
  await call('getTeamEntitlements');
  await recording.expectToBe('runs');
});
