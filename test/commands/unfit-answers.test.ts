/** Answers that do not fit the interface: no command fails with an error of its code, and the error says what is wrong with the answer. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/values.ts';
import { answerWith, type ForeignRequest, ForeignService } from '../support/foreign-service.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
/** Passes requests on to the service, and changes its answers. */
let foreign: ForeignService;
let change: (body: unknown, request: ForeignRequest) => unknown;
const ids: Record<string, string> = {};
beforeAll(async () => {
  service = await startTestService();
  const { teamId, token, url } = service.service;
  foreign = await ForeignService.start({
    '.*': async (request) => {
      const { method, path, query, body } = request;
      const answer = await fetch(`${url}${path}?${query}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...(method === 'GET' ? {} : { 'idempotency-key': String(request.headers['idempotency-key']) }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.headers.get('content-type')?.startsWith('application/json')) return answerWith(answer.status, { error: 'not_found' });
      return answerWith(answer.status, answer.ok ? change(JSON.parse(text), request) : JSON.parse(text));
    },
  });
  ids.agent = await service.agent('- write: { path: a.txt, content: x }\n- approve: { id: pay, title: "Pay?" }', 'payer');
  ids.run = await service.start(ids.agent, 'March');
  await service.until(ids.run, 'waiting');
  ids.ended = await service.run('- say: Done.');
  await service.until(ids.ended, 'completed');
  const { queue } = await service.api<{ queue: { id: string } }>('POST', `/teams/${teamId}/queues`, { name: 'invoices' });
  const created = await service.cli(['cases', 'create', 'invoices', 'Invoice 1', '-o', 'id']);
  ids.case = created.stdout.trim();
  await service.cli(['agents', 'triggers', 'create', 'payer', '--queue', queue.id]);
  await service.cli(['webhooks', 'create', 'http://127.0.0.1:9/hook']);
});

const run = (command: string): Promise<CliResult> => {
  const argv = command.split(' ').map((word) => ids[word.slice(1)] ?? word);
  return runCli([...argv, '--no-input', '--timeout', '20s'], foreign.optionsIn(service.folder, service.service.teamId));
};

/** Paths of the objects and lists in a value. Of each list, only the first element counts. */
function containersIn(value: object, place: readonly string[] = []): (readonly string[])[] {
  const members: [string, unknown][] = Object.entries(Array.isArray(value) ? value.slice(0, 1) : value);
  return members.flatMap(([name, member]) =>
    typeof member === 'object' && member !== null ? [[...place, name], ...containersIn(member, [...place, name])] : [],
  );
}

function replaced(value: unknown, [name = '', ...rest]: readonly string[], replacement: unknown): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as JsonObject) }) as JsonObject;
  if (rest.length > 0) copy[name] = replaced(copy[name], rest, replacement);
  else if (replacement === undefined) delete copy[name];
  else copy[name] = replacement;
  return copy;
}

/** What code says that met what it was not written for. */
const unexpected = /Cannot read|is not a function|is not iterable|Invalid time value|must be of type|mistake in aops/;

describe.each([
  'runs list',
  'runs get $run',
  'runs messages $run',
  'runs screenshots $run',
  'runs evaluation $run',
  'runs export $run --to -',
  'runs watch $ended',
  'runs respond $run --approve --dry-run',
  'inbox',
  'agents list',
  'agents get payer',
  'agents triggers list payer',
  'agents triggers preview payer --queue invoices',
  'agents rubrics list payer',
  'revisions list payer',
  'queues list',
  'queues agents invoices',
  'cases list invoices',
  'cases get $case',
  'cases runs $case',
  'sandbox ls $run',
  'sandbox tree $run',
  'webhooks list',
  'webhooks deliveries',
  'teams list',
  'billing usage',
  'billing entitlements',
  'connections list',
  'artifacts list',
  'local token list',
])('aops %s', (command) => {
  it('reports what does not fit, in one answer after the other', async () => {
    const answersByPath = new Map<string, object>();
    change = (body, { path }) => {
      answersByPath.set(path, body as object);
      return body;
    };
    await run(command);
    expect(answersByPath.size).toBeGreaterThan(0);
    for (const [path, body] of answersByPath)
      for (const place of containersIn(body))
        for (const replacement of [undefined, 7, [null]]) {
          change = (answer, request) => (request.path === path ? replaced(answer, place, replacement) : answer);
          const { stderr } = await run(command);
          expect(stderr, `${place.join('.')} of ${path} is ${JSON.stringify(replacement)}`).not.toMatch(unexpected);
        }
  });
});

it('names the member of the answer, and says whether a change was carried out', async () => {
  change = (body, { path }) => (path.endsWith('/screenshots/timeline') ? { data: { run_id: ids.run } } : body);
  const shown = await run('runs screenshots $run --json');
  expect(shown.code).toBe(1);
  expect(JSON.parse(shown.stderr).error).toMatchObject({
    code: 'unusable_answer',
    message: 'The service sent an answer that does not fit the interface: data.toolExecutions is missing.',
    path: `/v2/agent-runs/${ids.run}/screenshots/timeline`,
  });
  expect(shown.stderr).not.toContain('carried out');
  change = (body, { method }) => (method === 'POST' ? {} : body);
  const created = await run('cases create invoices Another');
  expect(created.code).toBe(1);
  expect(created.stderr).toContain('The change was carried out.');
});

it('is not understood as something that it is not', async () => {
  change = (body, { path }) => (path.endsWith('/sandbox/files') ? { data: [] } : body);
  expect((await run('sandbox ls $run')).stderr).toContain(
    'The service answered 200 without the object "data" that this operation returns.',
  );
  change = (body, { path }) => (path.endsWith(`/${ids.run}`) ? { run: [] } : body);
  expect((await run('runs respond $run --approve')).stderr).toContain('without the object "run"');
  change = (body, { path }) => (path.endsWith('/runs') ? { data: 'runs', total: 4 } : body);
  expect((await run('runs list')).stderr).toContain('without the list "data"');
});
