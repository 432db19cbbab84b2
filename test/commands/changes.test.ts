/** The behaviour of all commands that change something: --dry-run and --idempotency-key. */
import { beforeAll, describe, expect, it } from 'vitest';
import { loadAllCommands } from '../../src/cli/program/describe.ts';
import { resultFields } from '../../src/cli/program/result-fields.ts';
import { commandTree } from '../../src/commands/index.ts';
import { type OperationId, operation } from '../../src/interface/operations.ts';
import type { Params, Response } from '../../src/interface/types.ts';
import { eventually } from '../support/eventually.ts';
import { keys } from '../support/screen.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let agent: string;
let agents: Record<'proposing' | 'asking' | 'greeter', string>;
let queueId: string;
/** Revisions with a builder run. */
const builds: string[] = [];
/** The state before any of the commands. */
let untouchedState: unknown;
let waitingRun: string;
let webhook: string;
let schedule: string;
let oneCase: string;
let artifact: string;
let askingRun: string;
let names: Record<'token' | 'client' | 'team', string>;

/** The JSON that a command prints. */
async function json<Result>(...argv: string[]): Promise<Result> {
  const result = await service.cli([...argv, '--json']);
  expect(result).toMatchObject({ code: 0 });
  return result.json<Result & Record<string, unknown>>();
}

/** A revision whose builder run has a proposal or a question. */
async function builderRun(name: string, prompt: string, pattern: RegExp): Promise<string> {
  const id = await service.agent('- approve: { id: a, title: "A?" }\n- approve: { id: b, title: "B?" }', name);
  builds.push((await json<{ id: string }>('revisions', 'create', name)).id);
  await json('revisions', 'generate', `${name}@latest`, '--prompt', prompt);
  await eventually(`${name} shows ${pattern}`, async () =>
    pattern.test(JSON.stringify(await json('revisions', 'builder-run', `${name}@latest`))),
  );
  return id;
}

type ListedItem = { id: string; name?: string; url?: string };

/** Reads with an operation directly, without the command line, after every command. */
const read = <Id extends OperationId>(id: Id, params: Partial<Params<Id>> = {}): Promise<Response<Id>> =>
  service.api(
    'GET',
    operation(id)
      .path.replace('/v2', '')
      .replace(/\{(\w+)\}/g, (_, name: string) =>
        name === 'teamId' ? service.service.teamId : ((params as Record<string, string>)[name] as string),
      ),
  );

/** Everything that a command could change, except what changes by itself. */
async function state(): Promise<unknown> {
  const agent_ids = Object.values(agents);
  const queue = { queue_id: queueId };
  const listRows = async <Id extends OperationId>(id: Id, params?: Partial<Params<Id>>): Promise<unknown> => {
    const [list] = Object.values((await read(id, params)) as object).filter((value) => Array.isArray(value)) as ListedItem[][];
    return (list as ListedItem[]).map(({ id, name, url }) => [id, name, url]);
  };
  return Promise.all([
    service.countRuns(),
    service.messages(waitingRun),
    service.get(waitingRun).then(({ run }) => run.status),
    listRows('listAgents'),
    listRows('listConnections'),
    listRows('listLocalTokens'),
    listRows('listLocalClients'),
    listRows('listLocalTeams'),
    read('listTeamWebhooks'),
    read('getTeamWebhookSecret'),
    read('listQueues'),
    read('listQueueLabels', queue),
    read('listCases', queue),
    read('listArtifacts'),
    read('listArtifactMessages', { artifactId: askingRun }),
    read('listArtifactConnections', { artifactId: artifact }),
    ...agent_ids.flatMap((agent_id) => [
      listRows('listAgentRevisions', { agent_id }),
      read('listAgentCaseTriggers', { agent_id }),
      read('listAgentSchedules', { agent_id }),
      read('getEvalRubrics', { agentId: agent_id }),
    ]),
    ...builds.map((build_id) => read('getLatestBuilderRun', { build_id })),
  ]);
}

beforeAll(async () => {
  // The state is read after every command.
  service = await startTestService({ rateLimit: { limit: 1_000_000, windowSeconds: 60 } });
  webhook = (await json<{ id: string }>('webhooks', 'create', 'http://127.0.0.1:9/hook', '--event', 'run.failed')).id;
  await json('connections', 'create', 'crm', '--url', 'http://127.0.0.1:9/mcp');
  names = { token: 'a-token', client: 'a-client', team: 'a-team' };
  await json('local', 'token', 'create', names.token, '--reveal');
  await json('local', 'client', 'create', names.client, '--reveal');
  await json('local', 'team', 'create', names.team);
  const proposingId = await builderRun('proposing', 'say "Bye"', /"waiting_for_approve"/);
  const askingId = await builderRun('asking', 'remove the approval', /Which one do you mean/);
  agent = await service.agent('- say: "Hello {{message}}"', 'greeter');
  agents = { proposing: proposingId, asking: askingId, greeter: agent };
  queueId = (await json<{ id: string }>('queues', 'create', 'invoices')).id;
  await json('queues', 'labels', 'create', 'invoices', 'vendor=acme');
  oneCase = (await json<{ id: string }>('cases', 'create', 'invoices', 'One', '--label', 'vendor=acme')).id;
  await json('agents', 'triggers', 'create', 'greeter', '--queue', 'invoices', '--no-enabled');
  await json('agents', 'rubrics', 'create', 'greeter', 'Says hello', '--description', 'The final message contains "Hello".');
  await service.file('rubrics.yaml', '- { title: New, description: No tool call failed. }\n');
  schedule = (await json<{ id: string }>('agents', 'schedules', 'create', 'greeter', '--frequency', 'daily')).id;
  artifact = (await json<{ id: string }>('artifacts', 'create', 'runs', '--watch')).id;
  askingRun = (await json<{ id: string }>('artifacts', 'create', 'chart of runs')).id;
  await eventually('a question', async () => (await json<{ data: unknown[] }>('artifacts', 'messages', askingRun)).data.length === 2);
  waitingRun = await service.run('- approve: { id: pay, title: "Pay?" }');
  await service.until(waitingRun, 'waiting');
  await service.file('key.txt', 'a secret value\n');
  await service.file('procedure.yaml', 'version: 1\nsteps:\n  - say: hi\n');
  untouchedState = await state();
});

/** An invocation of each command that changes something, with the first request that it would send. */
const changes = (): Record<string, { argv: string[]; method: string; path: string | RegExp; body?: unknown }> => {
  const team = `/v2/teams/${service.service.teamId}`;
  return {
    'runs start': {
      argv: ['--agent', 'greeter', '--message', 'm'],
      method: 'POST',
      path: `${team}/runs`,
      body: { agent_id: agent, message: 'm' },
    },
    'runs rerun': { argv: [waitingRun], method: 'POST', path: /\/runs$/ },
    'runs respond': { argv: [waitingRun, '--approve'], method: 'POST', path: /\/respond$/, body: { approved: true } },
    'runs send': {
      argv: [waitingRun, 'hello', '--as-answer'],
      method: 'POST',
      path: `/v2/runs/${waitingRun}/messages`,
      body: { message: 'hello', expected_human_request_id: expect.any(String) },
    },
    'runs stop': { argv: [waitingRun], method: 'POST', path: `/v2/runs/${waitingRun}/stop` },
    'agents create': { argv: ['new', '--procedure', 'procedure.yaml'], method: 'POST', path: `${team}/agents` },
    'agents update': { argv: ['greeter', '--name', 'renamed'], method: 'PATCH', path: `/v2/agents/${agent}`, body: { name: 'renamed' } },
    'agents delete': { argv: ['greeter', '--yes'], method: 'DELETE', path: `/v2/agents/${agent}` },
    'sandbox create': { argv: [], method: 'POST', path: '/v2/sandboxes' },
    'sandbox push': {
      argv: ['00000000-0000-4000-8000-000000000007', 'procedure.yaml'],
      method: 'POST',
      path: /\/v2\/sandboxes\/.*\/files$/,
    },
    'revisions create': { argv: ['greeter'], method: 'POST', path: `/v2/agents/${agent}/revisions` },
    'revisions update': {
      argv: ['proposing@latest', '--name', 'better'],
      method: 'PATCH',
      path: /^\/v2\/revisions\/[^/]+$/,
      body: { revision_name: 'better' },
    },
    'revisions promote': { argv: ['proposing@latest'], method: 'POST', path: /\/promote$/ },
    'revisions generate': {
      argv: ['greeter@live', '--prompt', 'say "x"'],
      method: 'POST',
      path: /\/generate$/,
      body: { prompt: 'say "x"' },
    },
    'revisions respond': {
      argv: ['asking@latest', '--answer', 'Step 1 (approve): A?'],
      method: 'POST',
      path: /^\/v2\/builder-runs\/[^/]+\/answer$/,
    },
    'revisions accept': { argv: ['proposing@latest'], method: 'POST', path: /\/accept$/ },
    'revisions decline': { argv: ['proposing@latest'], method: 'POST', path: /\/decline$/ },
    'revisions discard': { argv: ['proposing@latest'], method: 'POST', path: /\/discard$/ },
    'artifacts create': { argv: ['runs'], method: 'POST', path: '/v2/artifacts', body: { message: 'runs' } },
    'artifacts update': {
      argv: [artifact, '--refresh', 'never'],
      method: 'PATCH',
      path: `/v2/artifacts/${artifact}`,
      body: { refresh_frequency: null },
    },
    'artifacts delete': { argv: [artifact, '--yes'], method: 'DELETE', path: `/v2/artifacts/${artifact}` },
    'artifacts send': {
      argv: [artifact, 'usage'],
      method: 'POST',
      path: `/v2/artifacts/${artifact}/messages`,
      body: { message: 'usage' },
    },
    'artifacts respond': { argv: [askingRun, '--answer', 'status'], method: 'POST', path: `/v2/artifacts/${askingRun}/answer` },
    'artifacts stop': { argv: [askingRun], method: 'POST', path: `/v2/artifacts/${askingRun}/stop` },
    'artifacts refresh': { argv: [artifact], method: 'POST', path: `/v2/artifacts/${artifact}/refresh` },
    'artifacts publish': { argv: [artifact], method: 'POST', path: `/v2/artifacts/${artifact}/publish`, body: { visibility: 'team' } },
    'artifacts duplicate': { argv: [artifact], method: 'POST', path: `/v2/artifacts/${artifact}/duplicate` },
    'artifacts restore': { argv: [artifact, '1'], method: 'POST', path: /\/restore$/ },
    'artifacts connections attach': { argv: [artifact, 'crm'], method: 'POST', path: `/v2/artifacts/${artifact}/connections` },
    'artifacts connections detach': { argv: [artifact, 'crm'], method: 'DELETE', path: /\/connections\/[^/]+$/ },
    'webhooks create': { argv: ['http://127.0.0.1:9/other'], method: 'POST', path: `${team}/webhooks` },
    'webhooks update': { argv: [webhook, '--no-enabled'], method: 'PATCH', path: `${team}/webhooks/${webhook}`, body: { enabled: false } },
    'webhooks delete': { argv: [webhook, '--yes'], method: 'DELETE', path: `${team}/webhooks/${webhook}` },
    'webhooks resend': { argv: [aId], method: 'POST', path: `${team}/webhook-deliveries/${aId}/resend` },
    'webhooks secret rotate': { argv: ['--reveal', '--yes'], method: 'POST', path: `${team}/webhook-secret/rotate` },
    'webhooks trigger': { argv: ['run.failed'], method: 'POST', path: `${team}/webhook-test-events` },
    'webhooks listen': { argv: ['--subscribe'], method: 'POST', path: `${team}/webhooks` },
    'connections create': {
      argv: ['new', '--url', 'http://127.0.0.1:9/mcp'],
      method: 'POST',
      path: `${team}/connections`,
      body: { name: 'new', server_url: 'http://127.0.0.1:9/mcp', provider: 'user', auth_method: 'url' },
    },
    'connections update': {
      argv: ['crm', '--name', 'sales'],
      method: 'PATCH',
      path: /^\/v2\/connections\/[^/]+$/,
      body: { name: 'sales' },
    },
    'connections authorize': {
      argv: ['--name', 'new', '--url', 'http://127.0.0.1:9/mcp'],
      method: 'POST',
      path: `${team}/connections/oauth/mcp/start`,
    },
    'connections delete': { argv: ['crm', '--yes'], method: 'DELETE', path: /^\/v2\/connections\/[^/]+$/ },
    'local token create': { argv: ['new', '--reveal'], method: 'POST', path: '/v2/local/tokens', body: { name: 'new' } },
    'local token revoke': { argv: [names.token, '--yes'], method: 'DELETE', path: /^\/v2\/local\/tokens\/[^/]+$/ },
    'local client create': { argv: ['new', '--reveal'], method: 'POST', path: '/v2/local/clients', body: { name: 'new' } },
    'local client revoke': { argv: [names.client, '--yes'], method: 'DELETE', path: /^\/v2\/local\/clients\/[^/]+$/ },
    'local team create': { argv: ['new'], method: 'POST', path: '/v2/local/teams', body: { name: 'new' } },
    'local team update': {
      argv: [names.team, '--name', 'renamed'],
      method: 'PATCH',
      path: /^\/v2\/local\/teams\/[^/]+$/,
      body: { name: 'renamed' },
    },
    'local team delete': { argv: [names.team, '--yes'], method: 'DELETE', path: /^\/v2\/local\/teams\/[^/]+$/ },
    'agents rubrics create': {
      argv: ['greeter', 'New', '--description', 'No tool call failed.'],
      method: 'POST',
      path: `/v2/agents/${agent}/eval-rubrics`,
      body: { title: 'New', description: 'No tool call failed.' },
    },
    'agents rubrics update': {
      argv: ['greeter', 'says-hello', '--title', 'Says it'],
      method: 'PATCH',
      path: /\/eval-rubrics\/[^/]+$/,
      body: { title: 'Says it' },
    },
    'agents rubrics delete': { argv: ['greeter', 'says-hello', '--yes'], method: 'DELETE', path: /\/eval-rubrics\/[^/]+$/ },
    'agents rubrics replace': { argv: ['greeter', '--from', 'rubrics.yaml', '--yes'], method: 'PUT', path: /\/eval-rubrics$/ },
    'agents schedules create': {
      argv: ['greeter', '--frequency', 'daily', '--time', '08:30', '--timezone', 'Europe/Berlin'],
      method: 'POST',
      path: /\/schedules$/,
    },
    'agents schedules update': {
      argv: ['greeter', schedule, '--no-enabled'],
      method: 'PATCH',
      path: new RegExp(`/schedules/${schedule}$`),
    },
    'agents schedules delete': { argv: ['greeter', schedule, '--yes'], method: 'DELETE', path: new RegExp(`/schedules/${schedule}$`) },
    'agents secrets set': { argv: ['greeter', 'API_KEY=@key.txt'], method: 'POST', path: /^\/v2\/agents\/[^/]+\/secrets$/ },
    'agents secrets delete': { argv: ['greeter', 'API_KEY', '--yes'], method: 'DELETE', path: /^\/v2\/agents\/[^/]+\/secrets\/API_KEY$/ },
    'agents triggers create': { argv: ['greeter', '--queue', 'invoices'], method: 'POST', path: /\/case-triggers$/ },
    'agents triggers update': { argv: ['greeter', '--enabled'], method: 'PATCH', path: /\/case-triggers\/[^/]+$/, body: { enabled: true } },
    'agents triggers delete': { argv: ['greeter', '--yes'], method: 'DELETE', path: /\/case-triggers\/[^/]+$/ },
    'queues create': { argv: ['new'], method: 'POST', path: `${team}/queues`, body: { name: 'new' } },
    'queues update': { argv: ['invoices', '--name', 'bills'], method: 'PATCH', path: /^\/v2\/queues\/[^/]+$/, body: { name: 'bills' } },
    'queues delete': { argv: ['invoices', '--yes'], method: 'DELETE', path: /^\/v2\/queues\/[^/]+$/ },
    'queues clear': { argv: ['invoices', '--yes'], method: 'DELETE', path: /^\/v2\/queues\/[^/]+\/cases$/ },
    'queues labels create': { argv: ['invoices', 'vendor=new'], method: 'POST', path: /\/labels$/ },
    'queues labels update': { argv: ['invoices', 'vendor=acme', '--hue', '120'], method: 'PATCH', path: /\/labels\/[^/]+$/ },
    'queues labels delete': { argv: ['invoices', 'vendor=acme', '--yes'], method: 'DELETE', path: /\/labels\/[^/]+$/ },
    'cases create': { argv: ['invoices', 'Another'], method: 'POST', path: /^\/v2\/queues\/[^/]+\/cases$/ },
    'cases delete': { argv: [oneCase, '--yes'], method: 'DELETE', path: `/v2/cases/${oneCase}` },
    'cases retry': { argv: [oneCase], method: 'POST', path: /\/cases\/bulk-reprocess$/ },
    'cases reprocess': { argv: [oneCase, '--yes'], method: 'POST', path: /\/cases\/bulk-reprocess$/ },
    'cases set-priority': { argv: [oneCase, '--to', 'high'], method: 'POST', path: /\/cases\/bulk-update-priority$/ },
    'cases set-status': { argv: [oneCase, '--to', 'completed', '--yes'], method: 'POST', path: /\/cases\/bulk-update-status$/ },
    'cases labels add': { argv: [oneCase, 'urgent'], method: 'POST', path: /\/labels$/ },
    'cases labels remove': { argv: [oneCase, 'vendor=acme'], method: 'POST', path: /\/labels\/unlink$/ },
    'mcp call': { argv: ['start_run', '-f', `agent_id=${agent}`], method: 'POST', path: /^\/v2\/mcp$/ },
    'mcp request': {
      argv: ['tools/call', '-f', 'name=start_run', '-f', `arguments[agent_id]=${agent}`],
      method: 'POST',
      path: /^\/v2\/mcp$/,
    },
    api: { argv: ['POST', 'teams/{team}/agents', '-f', 'name=new'], method: 'POST', path: `${team}/agents`, body: { name: 'new' } },
  };
};

const aId = '00000000-0000-4000-8000-000000000009';

const commands = await loadAllCommands(commandTree);
const changing = commands.filter(({ command }) => command.mutates).map(({ path }) => path.join(' '));
const withIds = new Set(
  commands.filter(({ command }) => Object.hasOwn(resultFields(command)?.fields ?? { id: '' }, 'id')).map(({ path }) => path.join(' ')),
);
/** Those that print what the service or a tool responds, or nothing. */
const withOpenResults = new Set(
  commands
    .filter(({ command }) => command.isResultOpen || command.output === undefined || command.output.kind === 'raw')
    .map(({ path }) => path.join(' ')),
);
const destroying = commands.filter(({ command }) => command.mutates && command.destructive).map(({ path }) => path.join(' '));

describe.each(destroying)('aops %s', (id) => {
  it('destroys nothing without a terminal unless --yes is used', async () => {
    const argv = (changes()[id]?.argv ?? []).filter((word) => word !== '--yes');
    for (const stdin of [undefined, 'y\ny\n']) {
      const refusal = await service.cli([...id.split(' '), ...argv, '--json'], stdin === undefined ? {} : { stdin });
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(JSON.parse(refusal.stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
        error: { code: 'not_confirmed', exit: 2, hint: expect.stringContaining('--yes') },
      });
    }
    expect(await state()).toEqual(untouchedState);
  });

  it('destroys nothing at a terminal if Enter is pressed', async () => {
    const argv = (changes()[id]?.argv ?? []).filter((word) => word !== '--yes');
    const terminal = service.terminal(...id.split(' '), ...argv);
    await terminal.shows('(y/N)');
    terminal.type(keys.enter);
    await terminal.shows('Nothing was changed, because you did not confirm.');
    expect(await terminal.end).toMatchObject({ code: 2, stdout: '' });
    expect(await state()).toEqual(untouchedState);
  });
});

describe.each(changing)('aops %s --dry-run', (id) => {
  it('prints the request and changes nothing', async () => {
    const change = changes()[id];
    if (change === undefined) throw new Error(`add a call of "${id}" to the list above`);
    const result = await service.cli([...id.split(' '), ...change.argv, '--dry-run', '--quiet']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const request = result.json<{ method: string; url: string; headers: Record<string, string>; body?: unknown }>();
    expect(request.method).toBe(change.method);
    const path = request.url.slice(service.service.url.length);
    if (typeof change.path === 'string') expect(path).toBe(change.path);
    else expect(path).toMatch(change.path);
    if (change.body !== undefined) expect(request.body).toEqual(change.body);
    expect(result.stdout).not.toContain(service.service.token);
    expect(result.stdout).not.toContain('a secret value');
    expect(Object.keys(request.headers)).toContain('idempotency-key');
    expect(await state()).toEqual(untouchedState);
  });
});

describe.each(changing)('aops %s, if its result cannot be printed as requested,', (id) => {
  it('changes nothing', async () => {
    const argv = [...id.split(' '), ...(changes()[id]?.argv ?? [])];
    const forms = [
      ...[['--jq', '.id |'], ['--fields', 'a,,b'], ['--template', '{{'], ...(withIds.has(id) ? [] : [['-o', 'id']])],
      ...(withOpenResults.has(id)
        ? []
        : [
            ['--fields', 'nope'],
            ['--template', '{{ nope }}'],
            ['--fields', 'nope', '-o', 'ndjson'],
          ]),
    ];
    for (const form of forms) expect(await service.cli([...argv, ...form])).toMatchObject({ code: 2, stdout: '' });
    expect(await state()).toEqual(untouchedState);
  });
});

describe('--dry-run', () => {
  it('prints the request in the requested format', async () => {
    const dryRunStop = (...flags: string[]) => service.cli(['runs', 'stop', waitingRun, '--dry-run', ...flags]);
    expect((await dryRunStop('--jq', '.method')).stdout).toBe('POST\n');
    expect((await dryRunStop('--fields', 'method', '--json')).json()).toEqual({ method: 'POST' });
    expect((await dryRunStop('--fields', 'method,headers.authorization', '-o', 'yaml')).stdout).toBe(
      'method: POST\nheaders:\n  authorization: Bearer ***\n',
    );
    expect((await dryRunStop('-o', 'ndjson')).stdout.trimEnd().split('\n')).toHaveLength(1);
    expect((await dryRunStop('-o', 'csv', '--fields', 'method')).stdout).toBe('method\r\nPOST\r\n');
    expect(await dryRunStop('-o', 'id')).toMatchObject({ code: 2, stdout: '' });
    expect(await dryRunStop('--jq', '.method |')).toMatchObject({ code: 2, stdout: '' });
    expect((await dryRunStop('--fields', 'nope')).stderr).toContain('The result has no field "nope".');
    expect(await state()).toEqual(untouchedState);
  });

  it('still reports mistakes', async () => {
    expect(await service.cli(['runs', 'start', '--agent', 'nobody', '--dry-run'])).toMatchObject({ code: 3, stdout: '' });
    expect(await service.cli(['runs', 'start', '--agent', 'greeter', '--upload', 'nowhere', '--dry-run'])).toMatchObject({
      code: 2,
      stdout: '',
    });
  });
});

describe('--idempotency-key', () => {
  it('used twice starts one run and reports it', async () => {
    const runs = await service.countRuns();
    const argv = ['runs', 'start', '--agent', 'greeter', '--message', 'once', '--idempotency-key', 'nightly-2026-11-20', '--json'];
    const first = await service.cli(argv);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const second = await service.cli(argv);
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('nightly-2026-11-20');
    expect(second.stderr).toMatch(/used before, so nothing was changed now/);
    expect(second.json()).toMatchObject({ id: first.json<{ id: string }>().id });
    expect(await service.countRuns()).toBe(runs + 1);
  });

  it('covers every change of a command: a run with an upload is not started twice', async () => {
    const runs = await service.countRuns();
    const file = await service.file('numbers.csv', 'a,b\n1,2\n');
    const argv = [
      'runs',
      'start',
      '--agent',
      'greeter',
      '--message',
      'with a file',
      '--upload',
      file,
      '--idempotency-key',
      'with-upload',
      '--json',
    ];
    const first = await service.cli(argv);
    expect(first).toMatchObject({ code: 0 });
    const second = await service.cli(argv);
    expect(second).toMatchObject({ code: 0 });
    expect(second.json()).toMatchObject({
      id: first.json<{ id: string }>().id,
      sandbox_id: first.json<{ sandbox_id: string }>().sandbox_id,
    });
    expect(await service.countRuns()).toBe(runs + 1);
  });

  it('for another request is rejected', async () => {
    const key = ['--idempotency-key', 'one-thing'];
    expect((await service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'a', ...key])).code).toBe(0);
    const runs = await service.countRuns();
    const otherResult = await service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'b', ...key, '--json']);
    expect(otherResult).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(otherResult.stderr)).toMatchObject({
      error: { code: 'idempotency_key_reused', exit: 2, idempotency_key: 'one-thing' },
    });
    expect(await service.countRuns()).toBe(runs);
  });

  it('is new for each change without the flag', async () => {
    const runs = await service.countRuns();
    const results = await Promise.all(
      ['a', 'b'].map(() => service.cli(['runs', 'start', '--agent', 'greeter', '--message', 'same', '-o', 'id'])),
    );
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(2);
    expect(await service.countRuns()).toBe(runs + 2);
  });

  it.each([
    ['an empty key', ''],
    ['a key with a space', 'sk secret'],
    ['a key with a line break', 'sk-secret\nX: y'],
    ['a key that is no ASCII', 'schlüssel'],
    ['a key that is too long', 'k'.repeat(256)],
  ])('rejects %s, without repeating it', async (_, key) => {
    const runs = await service.countRuns();
    for (const format of [[], ['--json']]) {
      const refusal = await service.cli(['runs', 'start', '--agent', 'greeter', '--idempotency-key', key, ...format]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain('idempotency key must be 1 to 255 visible ASCII characters');
      if (key !== '') expect(refusal.stderr).not.toContain(key);
    }
    expect(await service.countRuns()).toBe(runs);
  });
});

describe('a result that turns out not to be printable as requested', () => {
  it('is not reported like a mistake that changed nothing', async () => {
    for (const [form, reason] of [
      [['--fields', 'name.x'], 'The result has no field "name.x".'],
      [['--jq', '.name.x'], '--jq: Cannot index string with string ("x")'],
      [['--template', '{{ name.x }}'], 'The result has no field "name.x".'],
    ] as const) {
      const name = `Printed with ${form[0]}`;
      const result = await service.cli(['queues', 'create', name, ...form]);
      expect([result.code, result.stdout]).toEqual([1, '']);
      expect(result.stderr).toContain(`error: The command was carried out, but its result cannot be printed: ${reason}`);
      expect((await json<{ name: string }>('queues', 'get', name)).name).toBe(name);
    }
    expect((await service.cli(['queues', 'list', '--fields', 'nope'])).code).toBe(2);
  });
});
