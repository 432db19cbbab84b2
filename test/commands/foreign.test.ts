/** The command line with other services that lack the extensions and report errors in the style of their frameworks. */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  answerWith,
  asFastify,
  asHtml,
  asPrism,
  type ForeignRoutes,
  ForeignService,
  type UnknownRoute,
} from '../support/foreign-service.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

const team = '00000000-0000-4000-8000-00000000000a';
const agent = '00000000-0000-4000-8000-00000000000b';
const someId = '00000000-0000-4000-8000-000000000001';
const otherId = '00000000-0000-4000-8000-000000000002';
const timestamp = '2026-07-18T09:30:00Z';

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

const cli = (service: ForeignService, ...argv: string[]): Promise<CliResult> => runCli(argv, service.optionsIn(folder, team));

const errorOf = ({ stderr }: CliResult): Record<string, unknown> =>
  (JSON.parse(stderr.trim().split('\n').at(-1) as string) as { error: Record<string, unknown> }).error;

const styles: [string, UnknownRoute][] = [
  ['Fastify', asFastify],
  ['Prism', asPrism],
  ['a web server', asHtml],
];

describe('an extension that a service does not offer', () => {
  it.each(styles)('is reported as missing if the path contains only the team, in the style of %s', async (_, unknownRoute) => {
    const service = await ForeignService.start({}, unknownRoute);
    for (const [argv, operation] of [
      [['webhooks', 'deliveries'], 'listWebhookDeliveries (GET /v2/teams/{teamId}/webhook-deliveries)'],
      [['local', 'team', 'list'], 'listLocalTeams (GET /v2/local/teams)'],
    ] as const) {
      const refusal = await cli(service, ...argv, '--json');
      expect([refusal.code, refusal.stdout]).toEqual([3, '']);
      expect(errorOf(refusal)).toMatchObject({ code: 'not_offered', status: 404, message: `This service does not offer ${operation}.` });
      expect(errorOf(refusal).hint).toContain('aops local up');
    }
  });

  it.each(styles)('is a possible reason for a 404 if the path names a resource, in the style of %s', async (_, unknownRoute) => {
    const service = await ForeignService.start({}, unknownRoute);
    for (const argv of [
      ['webhooks', 'update', someId, '--no-enabled'],
      ['webhooks', 'resend', someId],
      ['webhooks', 'delivery', someId],
    ]) {
      const refusal = await cli(service, ...argv, '--json');
      expect([refusal.code, refusal.stdout], argv.join(' ')).toEqual([3, '']);
      expect(errorOf(refusal)).toMatchObject({
        code: 'not_found',
        message: expect.stringMatching(/^Not found, or this service does not offer \w+ \(/),
      });
    }
  });

  it.each([405, 501])('is reported as missing after %i', async (status) => {
    const service = await ForeignService.start({}, () => answerWith(status, { error: 'Method Not Allowed', message: 'No.' }));
    expect(errorOf(await cli(service, 'webhooks', 'update', someId, '--no-enabled', '--json'))).toMatchObject({
      code: 'not_offered',
      exit: 3,
      status,
    });
  });

  it('is not blamed if the service names the missing resource', async () => {
    const service = await ForeignService.start({}, () => answerWith(404, { error: 'delivery_not_found', message: 'No such delivery.' }));
    expect(errorOf(await cli(service, 'webhooks', 'delivery', someId, '--json'))).toMatchObject({
      code: 'delivery_not_found',
      message: 'No such delivery.',
    });
  });

  it('is not suspected for operations of the interface', async () => {
    const service = await ForeignService.start({});
    expect(errorOf(await cli(service, 'webhooks', 'list', '--json'))).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('Route GET:'),
    });
  });
});

describe('the record of a run', () => {
  it.each(styles)('is written without what a service does not offer, in the style of %s', async (_, unknownRoute) => {
    const run = {
      id: someId,
      agent_id: agent,
      status: 'failed',
      source: 'api',
      error: 'No.',
      sandbox_id: null,
      human_in_the_loop_enabled: true,
    };
    const times = { created_at: timestamp, started_at: timestamp, completed_at: timestamp };
    const message = { id: '1', type: 'human_response', role: 'user', timestamp, text_content: 'Approved: Pay?' };
    const service = await ForeignService.start(
      {
        'GET /v2/runs/:id': () => ({ run: { ...run, ...times }, pending_human_request: null }),
        'GET /v2/runs/:id/messages': () => ({ messages: [message], total: 1, limit: 50, offset: 0 }),
        'GET /v2/teams/:team/runs': () => ({ data: [], total: 0 }),
      },
      unknownRoute,
    );
    const record = await cli(service, 'runs', 'export', someId, '--format', 'json', '--to', '-');
    expect(record).toMatchObject({ code: 0, stderr: '' });
    expect(record.json()).toMatchObject({
      run: { id: someId, status: 'failed' },
      revision: null,
      timeline: [{ kind: 'answer', text: 'Approved: Pay?' }],
      left_out: expect.arrayContaining([expect.stringMatching(/^The list of human requests could not be read: /)]),
    });
    const explanation = await cli(service, 'runs', 'explain', someId, '--json');
    expect(explanation).toMatchObject({ code: 0, stderr: '' });
    expect(explanation.json()).toMatchObject({ outcome: 'failed', failure: { error: 'No.', step: null }, compared_with: null });
  });
});

it('runs are not started again if an original cannot be read for a reason that is not about the run', async () => {
  const service = await ForeignService.start({ 'GET /v2/runs/:id': () => answerWith(403, { error: 'forbidden', message: 'x' }) });
  const refusal = await cli(service, 'runs', 'rerun', someId, otherId, '--json');
  expect([refusal.code, refusal.stdout]).toEqual([5, '']);
  expect(errorOf(refusal)).toMatchObject({ code: 'forbidden' });
});

describe('the tools of a connection', () => {
  const connection = {
    id: someId,
    name: 'crm',
    type: 'custom_mcp',
    provider: 'user',
    user_id: null,
    team_id: team,
    server_url: 'https://crm.example.com/mcp',
    created_at: timestamp,
    updated_at: timestamp,
  };
  const probe = 'POST /v2/teams/:team/connections/mcp/probe';
  const tools = [{ name: 'create_ticket', description: 'Creates a ticket.' }];

  it.each(['probe', 'tools'])('are found by probing its address if the service offers no other way: %s', async (verb) => {
    const service = await ForeignService.start({ 'GET /v2/connections/:id': () => connection, [probe]: () => ({ success: true, tools }) });
    const result = await cli(service, 'connections', verb, someId, '--json');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.json()).toMatchObject({ data: tools });
    expect(service.bodies('POST', `/v2/teams/${team}/connections/mcp/probe`)).toEqual([{ server_url: connection.server_url }]);
  });

  it.each([
    { auth_method: 'headers', has_headers: true },
    { auth_method: 'oauth', has_headers: false },
  ])('are read without its credentials, with a warning: $auth_method', async (access) => {
    const service = await ForeignService.start({
      'GET /v2/connections/:id': () => ({ ...connection, ...access }),
      [probe]: () => ({ success: false, error: 'The server answered 401.' }),
    });
    const result = await cli(service, 'connections', 'probe', someId);
    expect([result.code, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toContain('contacted https://crm.example.com/mcp without the credentials of crm');
    expect(result.stderr).toContain('error: The server answered 401.');
  });

  it('cannot be read if the address of the connection is unknown', async () => {
    const service = await ForeignService.start({ 'GET /v2/connections/:id': () => ({ ...connection, server_url: undefined }) });
    expect(errorOf(await cli(service, 'connections', 'tools', someId, '--json'))).toMatchObject({ code: 'not_found', exit: 3 });
  });
});

describe('an error', () => {
  it('in a problem document is read', async () => {
    const service = await ForeignService.start({}, () =>
      answerWith(
        422,
        {
          type: 'https://stoplight.io/prism/errors#UNPROCESSABLE_ENTITY',
          title: 'Invalid request',
          status: 422,
          detail: 'Your request is not valid',
          validation: [{ location: ['body'], severity: 'Error', code: 'required', message: 'Body parameter is required' }],
        },
        'application/problem+json',
      ),
    );
    const { code, stderr } = await cli(service, 'teams', 'get');
    expect(code).toBe(2);
    expect(stderr).toContain('error: Invalid request. Your request is not valid. body: Body parameter is required.\n');
  });
});

describe('after a change', () => {
  const trigger = {
    id: someId,
    agent_id: agent,
    case_queue_id: otherId,
    case_queue_name: 'invoices',
    user_id: someId,
    enabled: true,
    concurrency: null,
    created_at: timestamp,
    updated_at: timestamp,
    creator_display_name: null,
    can_disable: true,
    has_conflict: false,
    conflicting_agents: [],
  };

  it.each([400, 401, 404, 500])('a failed request that only feeds a warning does not fail the command: %i', async (status) => {
    const service = await ForeignService.start({
      'POST /v2/agents/:id/case-triggers': () => answerWith(201, { case_trigger: trigger }),
      'GET /v2/agents/:id/revisions': () => answerWith(status, { error: 'no', message: 'No.' }),
    });
    const createResult = await cli(service, 'agents', 'triggers', 'create', agent, '--queue', otherId, '--json');
    expect([createResult.code, createResult.json()]).toEqual([0, trigger]);
    expect(service.requestedPaths).toContain(`GET /v2/agents/${agent}/revisions`);
  });

  it('the ID of a created artifact is printed even if it cannot be read back', async () => {
    const message = { id: otherId, artifact_id: someId, role: 'user', content: 'runs', created_at: timestamp };
    const service = await ForeignService.start({
      'POST /v2/artifacts': () => answerWith(201, { artifact_id: someId, user_message: message }),
    });
    const createResult = await cli(service, 'artifacts', 'create', 'runs of the last 7 days');
    expect([createResult.code, createResult.stdout]).toEqual([0, `ID\t${someId}\n`]);
    expect(createResult.stderr).toContain('The artifact was created, but it could not be read back: Route GET:');
    expect((await cli(service, 'artifacts', 'create', 'runs', '-o', 'id')).stdout).toBe(`${someId}\n`);
  });
});

describe('a request whose body has no required field', () => {
  it('is sent with an empty object: stopping an artifact', async () => {
    const artifact = {
      id: someId,
      team_id: team,
      created_by_user_id: someId,
      title: null,
      html_code_present: false,
      status: 'interrupted',
      visibility: 'private',
      publish_permission: 'view',
      created_at: timestamp,
      updated_at: timestamp,
    };
    const service = await ForeignService.start({ 'POST /v2/artifacts/:id/stop': () => ({ artifact }) });
    expect((await cli(service, 'artifacts', 'stop', someId)).code).toBe(0);
    expect(service.bodies('POST', `/v2/artifacts/${someId}/stop`)).toEqual([{}]);
  });
});

/** A run of a service that waits. */
const runRow = (id: string) => ({
  id,
  agent_id: agent,
  agent_name: 'invoice-check',
  title: `Run ${id.at(-1)}`,
  status: 'waiting',
  source: null,
  created_at: timestamp,
  started_at: timestamp,
  completed_at: null,
  build_id: someId,
  updated_at: timestamp,
  user_id: null,
  case_queue_item_id: null,
  case_queue_id: null,
  case_queue_name: null,
  case_title: null,
  postponed_to: null,
  submitted_prompt_count: 0,
});
const pendingRequest = { id: someId, title: 'Pay the invoice?', description: null, created_at: timestamp, type: 'approval' };

describe('a run that the service does not show', () => {
  const routes: ForeignRoutes = {
    'GET /v2/teams/:team/runs': () => ({ data: [runRow(someId), runRow(otherId)], total: 2 }),
    'GET /v2/runs/:id': (_, id) => (id === someId ? { run: null } : { run: runRow(otherId), pending_human_request: pendingRequest }),
  };

  it('is named in the error', async () => {
    const service = await ForeignService.start(routes);
    expect(errorOf(await cli(service, 'runs', 'get', someId, '--json'))).toMatchObject({
      code: 'run_not_shown',
      exit: 3,
      message: `The service does not show the run ${someId}.`,
    });
  });

  it('does not hide other requests in the inbox', async () => {
    const service = await ForeignService.start(routes);
    const inbox = await cli(service, 'inbox', '--json');
    expect([inbox.code, inbox.json<{ data: object[] }>().data]).toEqual([
      0,
      [expect.objectContaining({ run_id: otherId, title: 'Pay the invoice?' })],
    ]);
    expect(inbox.stderr).toContain(`Run ${someId} is waiting for an answer, but its request cannot be read`);
  });

  it('does not keep a command from answering the others, which it reports', async () => {
    const answers: unknown[] = [];
    const service = await ForeignService.start({
      ...routes,
      'POST /v2/runs/:id/human-requests/:request/respond': ({ body }, id) => {
        answers.push([id, body]);
        return { success: true, human_request: { ...pendingRequest, response: 'approved', responded_at: timestamp } };
      },
    });
    const result = await cli(service, 'runs', 'respond', '--type', 'approval', '--approve', '--yes', '--json');
    expect(result.stderr).toContain(`The request of run ${someId} cannot be read, so it is not answered: `);
    expect(answers).toEqual([[otherId, { approved: true }]]);
    expect(result.code).toBe(0);
  });

  it('is reported once while the inbox is watched', async () => {
    let polls = 0;
    let interrupt = (): void => undefined;
    const service = await ForeignService.start({
      ...routes,
      'GET /v2/teams/:team/runs': () => ({ data: [runRow(someId), ...(++polls < 3 ? [runRow(otherId)] : [])], total: polls < 3 ? 2 : 1 }),
    });
    const { code, stderr } = await runCli(['inbox', '--watch'], {
      ...service.optionsIn(folder, team),
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => {
        if (stdout.includes('✓')) interrupt();
      },
    });
    expect([code, stderr.split('its request cannot be read').length - 1]).toEqual([130, 1]);
  });

  it('is a failure of the inbox if no run can be read', async () => {
    const service = await ForeignService.start({
      ...routes,
      'GET /v2/runs/:id': () => answerWith(401, { error: 'unauthorized', message: 'Sign in.' }),
    });
    expect((await cli(service, 'inbox', '--json')).code).toBe(4);
  });

  it('can omit the null request, and its number in lists', async () => {
    const service = await ForeignService.start({
      ...routes,
      'GET /v2/runs/:id': () => ({ run: { ...runRow(otherId), status: 'running' } }),
    });
    expect((await cli(service, 'runs', 'get', otherId, '--json')).json()).toMatchObject({ id: otherId, pending_human_request: null });
    expect(errorOf(await cli(service, 'runs', 'respond', otherId, '--approve', '--json'))).toMatchObject({
      code: 'run_not_waiting',
      exit: 6,
    });
    const list = await cli(service, 'runs', 'list');
    expect([list.code, list.stderr]).toEqual([0, '']);
    expect(list.stdout).not.toMatch(/undefined|NaN/);
  });
});

describe('a run of another service', () => {
  it('can have a question without questions', async () => {
    const question = { ...pendingRequest, type: 'question' };
    const service = await ForeignService.start({
      'GET /v2/runs/:id': () => ({ run: runRow(otherId), pending_human_request: question }),
    });
    expect(errorOf(await cli(service, 'runs', 'respond', otherId, '--approve', '--json'))).toMatchObject({
      exit: 2,
      message: '"Pay the invoice?" is a question, not an approval.',
    });
  });

  it.each([
    ['--approve', { approved: true }],
    ['--answer=Cost centre=7', { answers: { 'Cost centre': '7' } }],
  ])('gets the answer to a request that it does not show with %s', async (flag, answer) => {
    const service = await ForeignService.start({
      'GET /v2/runs/:id': () => ({ run: { ...runRow(otherId), status: 'running' }, pending_human_request: null }),
      'POST /v2/runs/:id/human-requests/:request/respond': () => answerWith(409, { error: 'already_answered', message: 'Too late.' }),
    });
    const result = await cli(service, 'runs', 'respond', otherId, '--request', someId, flag, '--json');
    expect([result.code, errorOf(result).code]).toEqual([6, 'already_answered']);
    expect(service.bodies('POST', `/v2/runs/${otherId}/human-requests/${someId}/respond`)).toEqual([answer]);
  });

  it('is not taken for a request if it cannot be read', async () => {
    const service = await ForeignService.start({
      'GET /v2/runs/:id': (_, id) =>
        id === otherId
          ? { run: runRow(otherId), pending_human_request: pendingRequest }
          : answerWith(401, { error: 'unauthorized', message: 'No.' }),
    });
    expect((await cli(service, 'runs', 'respond', otherId, agent, '--approve', '--yes', '--json')).code).toBe(4);
    expect(service.requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it.each([
    ['path', { path: '/srv/code', ref: 'abc' }],
    ['url', { url: '/srv/code', ref: 'abc' }],
  ])('is started again with its repository: %s', async (kind, repository) => {
    const service = await ForeignService.start({
      'GET /v2/runs/:id': () => ({ run: { ...runRow(otherId), status: 'completed' } }),
      'GET /v2/runs/:id/messages': () => ({ messages: [], total: 0, limit: 1, offset: 0 }),
      'GET /v2/runs/:id/sandbox/changes': () => ({ data: { repository: { kind, source: '/srv/code', ref: 'main', commit: 'abc' } } }),
    });
    const result = await cli(service, 'runs', 'rerun', otherId, '--dry-run');
    expect(result.json<{ body: object }>().body).toEqual({ agent_id: agent, repository });
  });

  it.each([
    ['sandbox/changes', 401, { error: 'unauthorized', message: 'Sign in.' }, 4, 'unauthorized'],
    ['sandbox/files', 404, { error: 'sandbox_not_found', message: 'Gone.' }, 6, 'cannot_rerun'],
    ['sandbox/files', 409, { error: 'busy', message: 'Later.' }, 6, 'busy'],
  ])('is not started again without its %s, after %i', async (part, status, body, code, error) => {
    const service = await ForeignService.start({
      'GET /v2/runs/:id': () => ({ run: { ...runRow(otherId), status: 'completed' } }),
      'GET /v2/runs/:id/messages': () => ({ messages: [], total: 0, limit: 1, offset: 0 }),
      [`GET /v2/runs/:id/${part}`]: () => answerWith(status, body),
    });
    const result = await cli(service, 'runs', 'rerun', otherId, '--json');
    expect([result.code, errorOf(result).code]).toEqual([code, error]);
  });

  it('cannot be started again if its agent was deleted', async () => {
    const service = await ForeignService.start({ 'GET /v2/runs/:id': () => ({ run: { ...runRow(otherId), agent_id: null } }) });
    expect(errorOf(await cli(service, 'runs', 'rerun', otherId, '--json'))).toMatchObject({
      code: 'cannot_rerun',
      exit: 6,
      message: 'The run cannot be started again, because its agent was deleted.',
    });
  });
});

describe('the evaluation of a run', () => {
  it('is given up like any other request unless it is waited for', async () => {
    const service = await ForeignService.start({
      'GET /v2/runs/:id': (_, id) => ({ run: { id, agent_id: agent, status: 'completed' } }),
      'GET /v2/agent/:agent/runs/:id': () => answerWith(503, { error: 'Service Unavailable', message: 'Later.' }),
    });
    const failure = await cli(service, 'runs', 'evaluation', someId, '--json');
    expect([failure.code, failure.stdout]).toEqual([8, '']);
    expect(service.requestedPaths.filter((request) => request.includes('/v2/agent/'))).toHaveLength(4);
  });
});

describe('schedules', () => {
  const schedule = (id: string, fields: object) => ({
    id,
    build_id: someId,
    agent_id: agent,
    user_id: someId,
    enabled: true,
    frequency: 'daily',
    time: null,
    timezone: 'UTC',
    day: null,
    day_of_month: null,
    cron: null,
    source: null,
    task: null,
    recurring: true,
    auto_disabled_at: null,
    auto_disabled_reason: null,
    consecutive_missing_connection_failures: 0,
    first_missing_connection_failure_at: null,
    last_missing_connection_failure_at: null,
    created_at: timestamp,
    updated_at: timestamp,
    ...fields,
  });
  const serveSchedules = (...schedules: object[]) => ForeignService.start({ 'GET /v2/agents/:id/schedules': () => ({ schedules }) });
  const next = (service: ForeignService, ...extraFlags: string[]) =>
    cli(service, 'agents', 'schedules', 'next', agent, ...extraFlags, '--from', '2026-07-18T09:00:00Z');

  it.each<[object, string]>([
    [{ frequency: 'every_5_minutes', time: '08:00' }, '2026-07-18T09:05:00.000Z'],
    [{ time: '09:30:00' }, '2026-07-18T09:30:00.000Z'],
    [{ frequency: 'weekly', time: '9:30', day: 'Monday' }, '2026-07-20T09:30:00.000Z'],
  ])('that were stored like %j are counted', async (fields, expected) => {
    const result = await next(await serveSchedules(schedule(someId, fields)), '--count', '1', '--json');
    expect([result.code, result.stderr, result.json<{ data: { at: string }[] }>().data.map((item) => item.at)]).toEqual([
      0,
      '',
      [expected],
    ]);
  });

  it('that cannot be calculated show the next time from the service, and do not hide other schedules', async () => {
    const oddSchedule = schedule(otherId, { frequency: 'lunar', timezone: 'Mars/Olympus', next_run_at: '2026-07-18T09:01:00Z' });
    const result = await next(await serveSchedules(schedule(someId, {}), oddSchedule), '--count', '2', '--json');
    expect([result.code, result.json<{ data: object[] }>().data]).toEqual([
      0,
      [
        expect.objectContaining({ at: '2026-07-18T09:01:00.000Z', when: 'lunar', schedule_id: otherId }),
        expect.objectContaining({ at: '2026-07-19T09:00:00.000Z', schedule_id: someId }),
      ],
    ]);
    expect(result.stderr).toContain(`The times of schedule ${otherId} cannot be calculated here: frequency must be one of`);
  });

  it('do not cause a usage error if none can be calculated', async () => {
    const service = await serveSchedules(schedule(someId, { frequency: 'custom' }));
    expect(errorOf(await next(service, '--json'))).toMatchObject({ code: 'schedule_unreadable', exit: 1 });
    const list = await cli(service, 'agents', 'schedules', 'list', agent);
    expect([list.code, list.stdout.includes('null')]).toEqual([0, false]);
  });
});

describe('bulk commands', () => {
  const ids = Array.from({ length: 230 }, (_, index) => `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`);
  const caseDetail = (id: string) => ({
    id,
    queue_id: someId,
    title: `Case ${id.at(-1)}`,
    display_status: 'pending',
    status: 'pending',
    priority: 'none',
  });
  const readRoutes: ForeignRoutes = {
    'GET /v2/cases/:id': (_, id) => ({ case: caseDetail(id as string), events: [], approvalBatches: [] }),
    'POST /v2/queues/:id/cases/search': ({ body }) => {
      const { limit, offset = 0 } = body as { limit: number; offset?: number };
      return { cases: ids.slice(offset, offset + limit).map(caseDetail), total: ids.length, limit, offset };
    },
  };
  const sizes = (service: ForeignService, word: string): number[] =>
    service.bodies('POST', `/v2/queues/${someId}/cases/${word}`).map((body) => (body as { case_ids: string[] }).case_ids.length);
  const key = 'repeat-me';
  const runBulk = (service: ForeignService, argv: string[], onStart: (interrupt: () => void) => void = () => undefined) =>
    runCli(['cases', ...argv, '--yes', '--json', '--idempotency-key', key], {
      ...service.optionsIn(folder, team),
      onStart,
      stdin: ids.join('\n'),
    });

  it.each<[string[], string, object]>([
    [['delete', '-'], 'bulk-delete', { deletedCount: 230, interruptedRunIds: [] }],
    [['set-priority', '-', '--to', 'high'], 'bulk-update-priority', { updatedCount: 230, skippedCount: 0 }],
    [['set-status', '-', '--to', 'failed'], 'bulk-update-status', { updatedCount: 230, skippedCount: 0, interruptedRunIds: [] }],
    [['retry', '-'], 'bulk-reprocess', { reprocessedCount: 230, skippedCount: 0 }],
    [['reprocess', '-'], 'bulk-reprocess', { reprocessedCount: 230, skippedCount: 0 }],
  ])('name at most 100 cases in a request: %j', async (argv, word, result) => {
    const service = await ForeignService.start({
      ...readRoutes,
      [`POST /v2/queues/:id/cases/${word}`]: ({ body }) => {
        const count = (body as { case_ids: string[] }).case_ids.length;
        return Object.fromEntries(Object.entries(result).map(([name, value]) => [name, value === 230 ? count : value]));
      },
    });
    const finalResult = await runBulk(service, argv);
    expect([finalResult.code, finalResult.json()]).toEqual([0, result]);
    expect(sizes(service, word)).toEqual([100, 100, 30]);
  });

  it('report the partial result when a request is rejected, and continue with the key of the command', async () => {
    let requestCount = 0;
    const service = await ForeignService.start({
      ...readRoutes,
      'POST /v2/queues/:id/cases/bulk-update-priority': () => {
        requestCount += 1;
        return requestCount === 2
          ? answerWith(409, { error: 'busy', message: 'The queue is busy.' })
          : { updatedCount: 99, skippedCount: 1 };
      },
    });
    const failure = await runBulk(service, ['set-priority', '-', '--to', 'high']);
    expect([failure.code, failure.json()]).toEqual([6, { updatedCount: 99, skippedCount: 1 }]);
    expect(errorOf(failure)).toMatchObject({
      code: 'busy',
      message: 'The queue is busy. Of 230 cases, 100 succeeded and 130 did not.',
      hint: expect.stringContaining(`--idempotency-key ${key}`),
    });
    const keys = () => service.requests.filter(({ path }) => path.endsWith('priority')).map(({ headers }) => headers['idempotency-key']);
    const [first, second] = keys();
    expect((await runBulk(service, ['set-priority', '-', '--to', 'high'])).code).toBe(0);
    // Each request has its original key, so the service carries out none of them twice.
    expect(keys().slice(2, 4)).toEqual([first, second]);
    expect(new Set(keys()).size).toBe(3);
  });

  it('report for how many cases the outcome is unknown', async () => {
    let requestCount = 0;
    const service = await ForeignService.start({
      ...readRoutes,
      'POST /v2/queues/:id/cases/bulk-delete': () => {
        requestCount += 1;
        return requestCount === 1 ? { deletedCount: 100, interruptedRunIds: [] } : answerWith(200, '<html>', 'text/html');
      },
    });
    const failure = await runBulk(service, ['delete', '-']);
    expect([failure.code, failure.json()]).toEqual([13, { deletedCount: 100, interruptedRunIds: [] }]);
    expect(errorOf(failure)).toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringMatching(/ Of 230 cases, 100 succeeded, the outcome of 100 is unknown, and 30 were not sent\.$/),
      hint: expect.stringMatching(new RegExp(`aops retry ${key}.*--ignore-not-found`)),
    });
    const open = await cli(service, 'retry', '--json');
    expect(open.json<{ data: { id: string }[] }>().data.map(({ id }) => id)).toEqual([key]);
  });

  it('report the same for an interruption during a request', async () => {
    let requestCount = 0;
    let interrupt = (): void => undefined;
    const service = await ForeignService.start({
      ...readRoutes,
      'POST /v2/queues/:id/cases/bulk-delete': () => {
        requestCount += 1;
        if (requestCount === 1) return { deletedCount: 100, interruptedRunIds: [] };
        interrupt();
        return new Promise(() => undefined);
      },
    });
    const failure = await runBulk(service, ['delete', '-'], (deliver) => {
      interrupt = deliver;
    });
    expect([failure.code, failure.json()]).toEqual([130, { deletedCount: 100, interruptedRunIds: [] }]);
    expect(errorOf(failure).message).toMatch(/ Of 230 cases, 100 succeeded, the outcome of 100 is unknown, and 30 were not sent\.$/);
  });

  it('delete the remaining cases after a failure with --ignore-not-found', async () => {
    const remainingIds = ids.slice(200);
    const service = await ForeignService.start({
      'GET /v2/cases/:id': (_, id) =>
        remainingIds.includes(id as string)
          ? { case: caseDetail(id as string) }
          : answerWith(404, { error: 'Not Found', message: 'No such case.' }),
      'POST /v2/queues/:id/cases/search': () => ({
        cases: remainingIds.map(caseDetail),
        total: remainingIds.length,
        limit: 100,
        offset: 0,
      }),
      'POST /v2/queues/:id/cases/bulk-delete': () => ({ deletedCount: 30, interruptedRunIds: [] }),
    });
    expect((await runBulk(service, ['delete', '-'])).code).toBe(3);
    const finalResult = await runBulk(service, ['delete', '-', '--ignore-not-found']);
    expect([finalResult.code, finalResult.json()]).toEqual([0, { deletedCount: 30, interruptedRunIds: [] }]);
    expect(service.bodies('POST', `/v2/queues/${someId}/cases/bulk-delete`)).toEqual([{ case_ids: remainingIds }]);
    remainingIds.length = 0;
    const emptyResult = await runBulk(service, ['delete', '-', '--ignore-not-found']);
    expect([emptyResult.code, emptyResult.json()]).toEqual([0, { deletedCount: 0, interruptedRunIds: [] }]);
  });

  it.each([1, 2, 25])('fail when the service returns other cases than the %i requested', async (count) => {
    const service = await ForeignService.start({
      'GET /v2/cases/:id': () => ({ case: caseDetail(agent) }),
      'POST /v2/queues/:id/cases/search': () => ({ cases: [caseDetail(agent)], total: 1_000, limit: 100, offset: 0 }),
    });
    for (const argv of [
      ['delete'],
      ['retry'],
      ['reprocess'],
      ['set-priority', '--to', 'high'],
      ['set-status', '--to', 'failed'],
      ['wait'],
    ]) {
      const [verb = '', ...flags] = argv;
      const refusal = await cli(service, 'cases', verb, ...ids.slice(0, count), ...flags, ...(verb === 'wait' ? [] : ['--yes']), '--json');
      expect(errorOf(refusal), verb).toMatchObject({
        code: 'unusable_answer',
        exit: 1,
        message: `The service answered with another case than ${ids[0]}.`,
      });
    }
  });

  it('search a queue only once for cases that its list does not contain', async () => {
    const service = await ForeignService.start({
      ...readRoutes,
      'POST /v2/queues/:id/cases/search': () => ({ cases: [], total: 0, limit: 100, offset: 0 }),
      'POST /v2/queues/:id/cases/bulk-delete': ({ body }) => ({
        deletedCount: (body as { case_ids: string[] }).case_ids.length,
        interruptedRunIds: [],
      }),
    });
    const finalResult = await cli(service, 'cases', 'delete', ...ids.slice(0, 30), '--yes', '--json');
    expect([finalResult.code, finalResult.json()]).toEqual([0, { deletedCount: 30, interruptedRunIds: [] }]);
    expect(service.requestedPaths.filter((request) => request.endsWith('/search'))).toHaveLength(1);
    expect(service.requestedPaths.filter((request) => request.startsWith('GET /v2/cases/'))).toHaveLength(30);
  });

  it('count cases with an unknown status', async () => {
    const service = await ForeignService.start({
      'GET /v2/cases/:id': (_, id) => ({ case: { ...caseDetail(id as string), display_status: 'archived' } }),
      'POST /v2/queues/:id/cases/bulk-update-priority': () => ({ updatedCount: 1, skippedCount: 0 }),
    });
    expect(await cli(service, 'cases', 'set-priority', someId, '--to', 'high')).toMatchObject({ code: 0, stderr: '1 archived case\n' });
  });
});

describe('labels of a case', () => {
  it('are added 50 at a time', async () => {
    const labels = Array.from({ length: 60 }, (_, index) => `label-${index}`);
    const service = await ForeignService.start({
      'GET /v2/cases/:id': (_, id) => ({ case: { id, queue_id: someId } }),
      'POST /v2/queues/:queue/cases/:id/labels': () => ({ labels: [{ id: someId, key: '', value: 'last', color_hue: 1 }] }),
    });
    const addResult = await cli(service, 'cases', 'labels', 'add', someId, ...labels, '--json');
    expect([addResult.code, addResult.json<{ data: object[] }>().data]).toEqual([0, [expect.objectContaining({ value: 'last' })]]);
    const sentBodies = service.bodies('POST', `/v2/queues/${someId}/cases/${someId}/labels`) as { labels: { value: string }[] }[];
    expect(sentBodies.map((body) => body.labels.length)).toEqual([50, 10]);
    expect(sentBodies.flatMap((body) => body.labels.map(({ value }) => value))).toEqual(labels);
  });
});
