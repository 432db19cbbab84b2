import { beforeAll, describe, expect, it } from 'vitest';
import { scriptedServer } from '../client/harness.ts';
import { json } from '../faults/raw-server.ts';
import { CliTerminal } from '../support/cli-terminal.ts';
import { answerWith, ForeignService } from '../support/foreign-service.ts';
import { runCli } from '../support/run-cli.ts';
import { keys } from '../support/screen.ts';
import { startTestService, type TestService } from '../support/service.ts';

const deploy = '- approve: { id: go, title: "Deploy?", description: "To production." }\n- say: deployed';
const vendor = '- ask: { id: who, questions: [{ question: "Which vendor?" }] }\n- say: "{{ answers.who }}"';
const twoQuestions = '- ask: { id: two, title: Details, questions: [{ question: "Who?" }, { question: "When?" }] }';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const errorOf = (stderr: string) => (JSON.parse(stderr.trim().split('\n').at(-1) as string) as { error: Record<string, unknown> }).error;

describe('runs send to a run that starts to wait in the meantime', () => {
  it.each([true, false])('sends nothing, also if its request is not pending any more: %s', async (isGone) => {
    const run = await service.run('- say: hi');
    await service.until(run, 'completed');
    const { run: fields } = await service.get(run);
    const request = { id: 'r', title: 'Pay?', description: null, type: 'approval', created_at: fields.created_at };
    let reads = 0;
    const foreign = await ForeignService.start({
      'GET /v2/runs/:id': () => ({ run: { ...fields, status: 'running' }, pending_human_request: reads++ > 0 && !isGone ? request : null }),
      'POST /v2/runs/:id/messages': () => answerWith(409, { error: 'human_request_pending', message: 'It waits.' }),
    });
    const refusal = await service.cli(['runs', 'send', run, 'go on'], { env: { AOPS_BASE_URL: foreign.url } });
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(refusal.stderr).toContain(`is waiting for an answer${isGone ? '' : ' to "Pay?"'}. The message was not sent.`);
  });
});

describe('runs send to a waiting run', () => {
  it('sends nothing if the service reports the request only with the run', async () => {
    const run = await service.waiting(deploy);
    const { run: fields, request } = await service.get(run);
    const foreign = await ForeignService.start({
      'GET /v2/runs/:id': () => ({ run: { ...fields, pending_human_request: request }, pending_human_request: null }),
    });
    const refusal = await service.cli(['runs', 'send', run, 'looks good'], { env: { AOPS_BASE_URL: foreign.url } });
    expect([refusal.code, refusal.stderr]).toEqual([6, expect.stringContaining('is waiting for an answer to "Deploy?".')]);
  });

  it.each([
    ['an approval', deploy, 'Deploy?', ['--approve', '--deny --reason TEXT']],
    ['a question', vendor, 'Which vendor?', ["--answer 'Which vendor?=ANSWER'"]],
    ['several questions', twoQuestions, 'Details', ["--answer 'Who?=ANSWER'", "--answer 'When?=ANSWER'"]],
  ])('sends nothing where it asks for %s, and names the command that answers', async (_, steps, title, flags) => {
    const run = await service.waiting(steps);
    const before = await service.messages(run);
    for (const form of [[], ['--json'], ['--yes'], ['--dry-run']]) {
      const refusal = await service.cli(['runs', 'send', run, 'looks good to me', ...form]);
      expect(refusal).toMatchObject({ code: 6, stdout: '' });
      expect(refusal.stderr).toContain(form.includes('--json') ? 'human_request_pending' : `is waiting for an answer to "${title}".`);
      expect(refusal.stderr).toContain(`aops runs respond ${run} ${flags[0]}`);
      for (const flag of flags) expect(refusal.stderr).toContain(flag);
      expect(refusal.stderr).toContain('--as-answer');
      expect(refusal.stderr.includes('To deny it, with the message as the reason')).toBe(title === 'Deploy?');
    }
    const { run: currentRun, request } = await service.get(run);
    expect([currentRun.status, request?.title]).toEqual(['waiting', title]);
    expect(await service.messages(run)).toEqual(before);
  });

  it('denies an approval with --as-answer and reports it', async () => {
    const result = await service.cli(['runs', 'send', await service.waiting(deploy), 'not on a Friday', '--as-answer']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^Denied\tDeploy\?\nResponse\tnot on a Friday\n/);

    const run = await service.waiting(deploy);
    const { request } = await service.get(run);
    const sendResult = await service.cli(['runs', 'send', run, 'not on a Friday', '--as-answer', '--json']);
    expect(sendResult.json()).toMatchObject({
      text_content: 'not on a Friday',
      human_request: { id: request?.id, type: 'approval', title: 'Deploy?', response: 'denied: not on a Friday' },
    });
    expect((await service.until(run, 'failed')).run.error).toContain('"Deploy?" was denied: not on a Friday');
  });

  it('answers a question with --as-answer and reports it', async () => {
    const run = await service.waiting(vendor);
    const sendResult = await service.cli(['runs', 'send', run, 'Acme Inc', '--as-answer']);
    expect(sendResult).toMatchObject({ code: 0, stderr: '' });
    expect(sendResult.stdout).toMatch(/^Answered\tWhich vendor\?\nResponse\tAcme Inc\n/);
    await service.until(run, 'completed');
    expect(await service.texts(run)).toContain('Acme Inc');
  });

  it.each([
    ['an approval', deploy, 'Deny it, with the message as the reason'],
    ['a question', vendor, 'Send the message as the answer'],
    ['several questions', twoQuestions, 'Send the message as the answer to all 2 questions'],
  ])('asks at a terminal whether the message is the answer to %s', async (_, steps, choice) => {
    const run = await service.waiting(steps);
    const terminal = service.terminal('runs', 'send', run, 'not on a Friday');
    // The keys were meant for something else.
    terminal.type(keys.down, keys.enter);
    await terminal.asks(choice);
    // Enter alone chooses nothing.
    terminal.type(keys.enter, keys.ctrlC);
    const { code, stderr } = await terminal.end;
    expect([code, stderr.includes('answer to all')]).toEqual([130, steps === twoQuestions]);
    expect(stderr.includes('To production.')).toBe(steps === deploy);
    const dismissed = service.terminal('runs', 'send', run, 'not on a Friday');
    await dismissed.asks(choice);
    dismissed.type(keys.escape);
    expect(await dismissed.end).toMatchObject({ code: 6, stderr: expect.stringContaining('The message was not sent.') });
    expect((await service.get(run)).run.status).toBe('waiting');
    const second = service.terminal('runs', 'send', run, 'not on a Friday');
    await second.asks(choice);
    second.type(keys.down, keys.enter);
    expect((await second.end).stdout).toContain('not on a Friday');
    expect((await service.get(run)).request?.title ?? '').not.toBe('Deploy?');
  });

  it('rejects --as-answer if nothing is pending', async () => {
    const run = await service.run('- say: done');
    await service.until(run, 'completed');
    const refusal = await service.cli(['runs', 'send', run, 'yes', '--as-answer', '--json']);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(errorOf(refusal.stderr)).toMatchObject({
      code: 'run_not_waiting',
      message: expect.stringContaining('its status is completed'),
      hint: 'To send it as a message, omit --as-answer.',
    });
    const failed = await service.run('- fail: "no"');
    await service.until(failed, 'failed');
    const failedRefusal = await service.cli(['runs', 'send', failed, 'yes', '--as-answer', '--json']);
    expect(errorOf(failedRefusal.stderr).hint).toContain('A failed run cannot receive messages');
    const sendResult = await service.cli(['runs', 'send', run, 'again', '--json']);
    expect(sendResult.json()).toMatchObject({ text_content: 'again', human_request: null });
  });

  it('mentions the command for answering in its help', async () => {
    expect((await service.cli(['runs', 'send', '--help'])).stdout.replace(/\s+/g, ' ')).toContain('Answer with `aops runs respond`');
  });
});

describe('runs send to another service', () => {
  const id = '00000000-0000-4000-8000-000000000001';
  const request = {
    id: '00000000-0000-4000-8000-000000000009',
    type: 'approval',
    title: 'Deploy?',
    description: null,
    created_at: '2026-01-01T00:00:00Z',
  };
  const running = json(200, { run: { id, status: 'running' }, pending_human_request: null });
  const waitingAnswer = json(200, { run: { id, status: 'waiting' }, pending_human_request: request });
  const sendAnswer = json(201, {
    message: { id: 'm1', type: 'message', role: 'user', timestamp: '2026-01-01T00:00:00Z', text_content: 'hello' },
  });
  const send = (server: { url: string }, ...flags: string[]) =>
    runCli(['runs', 'send', id, 'hello', ...flags], { env: { AOPS_API_KEY: 'k', AOPS_BASE_URL: server.url, AOPS_TEAM_ID: id } });
  const posts = (server: Awaited<ReturnType<typeof scriptedServer>>) => server.requests.filter(({ method }) => method === 'POST');

  it('reports that nothing was sent if a request arrived just before the message', async () => {
    const conflict = json(409, { error: 'human_request_pending', message: 'It waits.' });
    const server = await scriptedServer(running, conflict, waitingAnswer);
    const refusal = await send(server, '--json');
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(errorOf(refusal.stderr)).toMatchObject({
      code: 'human_request_pending',
      message: `Run ${id} is waiting for an answer to "Deploy?". The message was not sent.`,
      status: 409,
    });
    expect(posts(server).map(({ body }) => JSON.parse(String(body)))).toEqual([{ message: 'hello', expected_human_request_id: null }]);
  });

  it('reports what is known if the service does not report the result', async () => {
    const server = await scriptedServer(waitingAnswer, sendAnswer);
    const answerResult = await send(server, '--as-answer');
    expect(answerResult.stdout).toContain('Answered\tDeploy?\n');
    expect(JSON.parse(String(posts(server)[0]?.body))).toEqual({ message: 'hello', expected_human_request_id: request.id });
  });

  it('treats the status waiting as a pending request that it cannot read', async () => {
    const server = await scriptedServer(json(200, { run: { id, status: 'waiting' } }));
    const refusal = await send(server);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(refusal.stderr).toContain(`aops runs get ${id}`);
    expect(posts(server)).toEqual([]);
  });

  const contract = (field: string) => json(200, { openapi: '3.1.0', paths: { '/v2': { [field]: {} } } });

  it('relies on a service that detects pending requests if the run cannot be read', async () => {
    const forbidden = json(403, { error: 'forbidden', message: 'No.' });
    const server = await scriptedServer(forbidden, contract('expected_human_request_id'), sendAnswer);
    expect((await send(server)).code).toBe(0);
    expect(posts(server).map(({ body }) => JSON.parse(String(body)))).toEqual([{ message: 'hello', expected_human_request_id: null }]);
    const asAnswer = await scriptedServer(forbidden, contract('expected_human_request_id'), sendAnswer);
    expect((await send(asAnswer, '--as-answer')).code).toBe(5);
    expect(posts(asAnswer)).toEqual([]);
  });

  it.each([
    ['after an error', json(401, { error: 'unauthorized', message: 'No.' }), 4],
    ['for a run that does not exist', json(404, { error: 'run_not_found', message: 'No.' }), 3],
  ])('sends nothing %s', async (_, answer, code) => {
    const server = await scriptedServer(answer, contract('expected_human_request_id'), sendAnswer);
    expect((await send(server)).code).toBe(code);
    expect(posts(server)).toEqual([]);
  });

  it('reports other errors of the service unchanged', async () => {
    const server = await scriptedServer(running, json(409, { error: 'run_ended', message: 'It has ended.' }));
    expect(errorOf((await send(server, '--json')).stderr)).toMatchObject({ code: 'run_ended', message: 'It has ended.' });
  });

  it('names a pending request at a terminal only if it can read it', async () => {
    const server = (await scriptedServer()).always(json(200, { run: { id, status: 'waiting' } }));
    const env = { AOPS_API_KEY: 'k', AOPS_BASE_URL: server.url, AOPS_TEAM_ID: id };
    const terminal = new CliTerminal(['runs', 'send', id, 'hello'], { env });
    await terminal.asks(`Run ${id} is waiting for an answer.`);
    terminal.type(keys.ctrlC);
    expect((await terminal.end).code).toBe(130);
    expect(posts(server)).toEqual([]);
  });

  it('sends nothing if the run cannot be read and the service does not detect pending requests', async () => {
    const server = await scriptedServer(json(403, { error: 'forbidden', message: 'No.' }), json(404, { error: 'not_found' }));
    expect(await send(server)).toMatchObject({ code: 5, stdout: '' });
    expect(posts(server)).toEqual([]);
  });
});
