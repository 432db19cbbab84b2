import { beforeAll, describe, expect, it } from 'vitest';
import { signedHeaders } from '../../src/service/engine/webhooks/signature.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { whenDone } from '../support/temporary.ts';
import { type ReceivedDelivery, Receiver, verifyWithLibrary } from '../support/webhook-receiver.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';

let service: TestService;
let hook: Receiver;
beforeAll(async () => {
  service = await startTestService();
  hook = await Receiver.start();
  whenDone(() => hook.close());
});

async function createWebhook(...flags: string[]): Promise<string> {
  const result = await service.cli(['webhooks', 'create', hook.url, ...flags, '-o', 'id']);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return result.stdout.trim();
}

async function completeRun(): Promise<string> {
  const run = await service.run('- say: hi');
  await service.until(run, 'completed');
  return run;
}

describe('webhooks create, list, get, update and delete', () => {
  it('manage a webhook', async () => {
    const id = await createWebhook('--event', 'run.failed', '--event', 'run.completed', '--description', 'Mine');
    const result = await service.cli(['webhooks', 'get', id, '--color', 'never'], { tty: true });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/Events: +run\.failed, run\.completed\nDescription: +Mine\nStatus: +active/);
    const list = await service.cli(['webhooks', 'list', '--color', 'never'], { tty: true, columns: 120 });
    expect(list.stdout).toMatch(new RegExp(`ID +STATUS +URL +EVENTS\n${id} +active +${hook.url} +run\\.failed, run\\.comp`));
    const results = await service.cli(['webhooks', 'update', id, '--all-events', '--no-enabled', '--json']);
    expect(results.json()).toMatchObject({ id, events: ['*'], enabled: false, status: 'disabled', description: 'Mine' });
    const repeat = await service.cli(['webhooks', 'update', id, '--enabled', '--event', 'run.started', '--json']);
    expect(repeat.json()).toMatchObject({ enabled: true, events: ['run.started'] });
    await service.cli(['webhooks', 'update', id, '--format', 'teams']);
    expect((await service.cli(['webhooks', 'get', id])).stdout).toContain('\nFormat\tteams\n');
    const refusal = await service.cli(['webhooks', 'delete', id]);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    const deletion = await service.cli(['webhooks', 'delete', id, '--yes']);
    expect(deletion).toMatchObject({ code: 0, stdout: `Deleted the webhook to ${hook.url}.\n`, stderr: '' });
    expect((await service.cli(['webhooks', 'get', id])).code).toBe(3);
    expect((await service.cli(['webhooks', 'delete', id, '--yes'])).code).toBe(3);
  });

  it.each([
    ['an invalid URL', ['create', 'nonsense'], 2, 'URL must be an http or https address'],
    ['an unknown event', ['create', 'http://127.0.0.1/', '--event', 'run.complete'], 2, 'run.completed'],
    ['a host that may not be reached', ['create', 'http://10.1.2.3/'], 2, '--allow-webhook-host 10.1.2.3'],
    ['a password', ['create', 'http://me:pw@127.0.0.1/'], 2, 'user name'],
    ['nothing to change', ['update', unknownId], 2, 'nothing to change'],
    ['two ways to say it', ['update', unknownId, '--all-events', '--event', 'run.failed'], 2, '--all-events'],
    ['an unknown webhook', ['update', unknownId, '--enabled'], 3, unknownId],
    ['an unknown delivery', ['delivery', unknownId], 3, unknownId],
    ['an unknown delivery again', ['resend', unknownId], 3, unknownId],
    ['two filters that exclude each other', ['deliveries', '--failed', '--status', 'pending'], 2, '--failed'],
  ])('reject %s', async (_, argv, code, word) => {
    const refusal = await service.cli(['webhooks', ...argv]);
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toContain(word);
  });

  it('complete event types', async () => {
    const words = await service.cli(['__complete', '--', 'webhooks', 'create', '--event', 'run.f']);
    expect(words.stdout).toBe('run.failed\t\nrun.file.created\t\n');
  });
});

describe('webhooks deliveries, delivery and resend', () => {
  it('show the request and the response, and send the event again', async () => {
    hook.answer = (response) => response.writeHead(410).end('\u001b[31mgone');
    const id = await createWebhook('--event', 'run.completed');
    const run = await completeRun();
    const failedDelivery = await eventually('the delivery failed', async () => {
      const { data } = (await service.cli(['webhooks', 'deliveries', '--failed', '--webhook', id, '--json'])).json<{
        data: { id: string }[];
      }>();
      return data[0];
    });
    for (const flags of [
      ['--run', run],
      ['--run', '@latest'],
      ['--event', 'run.completed'],
    ]) {
      const list = await service.cli(['webhooks', 'deliveries', ...flags, '-o', 'id']);
      expect(list.stdout).toContain(failedDelivery.id);
    }
    expect((await service.cli(['webhooks', 'deliveries', '--event', 'run.paused', '--webhook', id, '-o', 'id'])).stdout).toBe('');
    const result = await service.cli(['webhooks', 'delivery', failedDelivery.id, '--color', 'never'], { tty: true, columns: 100 });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/Status: +failed\n/);
    expect(result.stdout).toMatch(/Problem: +answered 410\n/);
    expect(result.stdout).toContain('^[[31mgone');
    expect(result.stdout).toContain('"type": "run.completed"');
    expect((await service.cli(['webhooks', 'delivery', failedDelivery.id, '--jq', '.attempts[0].status_code'])).stdout).toBe('410\n');

    const refusal = await service.cli(['webhooks', 'resend', failedDelivery.id]);
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(refusal.stderr).toContain('enable it first');
    const disableResult = await service.cli(['webhooks', 'get', id]);
    expect(disableResult.stdout).toContain('Disabled because\tthe receiver answered 410 (gone)\n');
    hook.answer = (response) => response.writeHead(200).end();
    await service.cli(['webhooks', 'update', id, '--enabled']);
    expect((await service.cli(['webhooks', 'resend', failedDelivery.id, '--json'])).json()).toMatchObject({
      id: failedDelivery.id,
      status: 'pending',
    });
    await eventually(
      'it arrived',
      async () => (await service.cli(['webhooks', 'delivery', failedDelivery.id, '--jq', '.status'])).stdout === 'delivered\n',
    );
    await service.cli(['webhooks', 'delete', id, '--yes']);
  });
});

describe('webhooks secret', () => {
  it('is masked without --reveal, also in JSON and with --debug', async () => {
    const secret = (await service.cli(['webhooks', 'secret', 'show', '--reveal', '--jq', '.secret'])).stdout.trim();
    expect(secret).toMatch(/^whsec_.{44}$/);
    for (const flags of [[], ['--json'], ['--debug'], ['-o', 'yaml']]) {
      const result = await service.cli(['webhooks', 'secret', 'show', ...flags]);
      expect(result.code).toBe(0);
      expect(result.stdout + result.stderr).not.toContain(secret);
      expect(result.stdout).toContain(`whsec_…${secret.slice(-4)}`);
    }
  });

  it('is rotated with an overlap, one rotation at a time', async () => {
    const rotate = (...flags: string[]) => service.cli(['webhooks', 'secret', 'rotate', ...flags]);
    expect(await rotate()).toMatchObject({ code: 2, stdout: '' });
    const before = (await service.cli(['webhooks', 'secret', 'show', '--reveal', '--jq', '.secret'])).stdout;
    const rotateResult = await rotate('--yes', '--overlap', '2h', '--json');
    expect(rotateResult).toMatchObject({ code: 0, stderr: '' });
    const { created_at, previous_expires_at } = rotateResult.json<{ created_at: string; previous_expires_at: string }>();
    expect(Date.parse(previous_expires_at) - Date.parse(created_at)).toBe(7_200_000);
    const refusal = await rotate('--yes');
    expect(refusal).toMatchObject({ code: 6, stdout: '' });
    expect(refusal.stderr).toContain('rotated recently');
    expect((await rotate('--yes', '--force', '--overlap', '0')).code).toBe(0);
    const after = (await service.cli(['webhooks', 'secret', 'show', '--reveal', '--jq', '.secret'])).stdout;
    expect(after).not.toBe(before);
    expect((await rotate('--yes', '--overlap', 'soon')).stderr).toContain('--overlap must be a duration');
  });
});

describe('webhooks verify', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const body = '{"type":"run.completed","data":{}}';
  const timestamp = Date.parse('2026-07-18T09:00:00Z');
  const headerFlags = Object.entries(signedHeaders([secret], 'msg_1', timestamp, body)).flatMap(([name, value]) => [
    '-H',
    `${name}: ${value}`,
  ]);
  const verify = (flags: string[], options = {}) => service.cli(['webhooks', 'verify', ...headerFlags, ...flags], options);

  beforeAll(async () => {
    await service.file('body.json', body);
    await service.file('secret.txt', `${secret}\n`);
  });

  it('needs no service and accepts a valid delivery', async () => {
    const offline = { env: { AOPS_BASE_URL: 'http://127.0.0.1:9', AOPS_API_KEY: '' } };
    const validResult = await verify(['--body', 'body.json', '--secret', '@secret.txt', '--at', '2026-07-18T09:04:00Z', '--json'], offline);
    expect(validResult).toMatchObject({ code: 0, stderr: '' });
    expect(validResult.json()).toEqual({ valid: true, id: 'msg_1', timestamp: '2026-07-18T09:00:00.000Z', age_seconds: 240 });
    const pipedResult = await verify(['--body', '-', '--at', '2026-07-18T09:00:00Z'], {
      stdin: body,
      env: { AOPS_WEBHOOK_SECRET: secret },
    });
    expect(pipedResult).toMatchObject({ code: 0, stdout: 'Valid\ttrue\nID\tmsg_1\nSigned\t2026-07-18T09:00:00.000Z\n' });
    const wideResult = await verify(['--body', 'body.json', '--secret', '-', '--tolerance', '36500d'], { stdin: secret });
    expect(wideResult.code).toBe(0);
  });

  it('explains why a delivery is not valid', async () => {
    await service.file('altered.json', `${body}\n`);
    const alteredResult = await verify(['--body', 'altered.json', '--secret', '@secret.txt', '--at', '2026-07-18T09:00:00Z']);
    expect(alteredResult).toMatchObject({ code: 1, stdout: 'Valid\tfalse\nReason\tbody altered\n' });
    expect(alteredResult.stderr).toContain('error: The body is not what was signed: a line feed was added at its end.\nhint: ');
    const old = await verify(['--body', 'body.json', '--secret', '@secret.txt', '--at', '2026-07-18T10:00:00Z', '--json']);
    expect(old.code).toBe(1);
    expect(old.json()).toMatchObject({ valid: false, reason: 'too_old' });
    expect(JSON.parse(old.stderr)).toMatchObject({ error: { code: 'webhook_too_old', exit: 1 } });
    expect(old.stderr + old.stdout).not.toContain(secret.slice(6));
  });

  it.each([
    ['a secret on the command line', ['--body', 'body.json', '--secret', secret], 'secrets on the command line are visible to other users'],
    ['no secret', ['--body', 'body.json'], 'No secret was specified.'],
    ['an invalid secret', ['--body', 'body.json', '--secret', '@body.json'], 'not a webhook secret'],
    ['a missing file', ['--body', 'nowhere', '--secret', '@secret.txt'], 'nowhere'],
    ['one standard input for two', ['--body', '-', '--secret', '-'], 'cannot be both'],
    ['an invalid header', ['--body', 'body.json', '--secret', '@secret.txt', '-H', 'nonsense'], '--header must have the form'],
  ])('rejects %s', async (_, flags, word) => {
    const refusal = await verify(flags);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(word);
    expect(refusal.stderr).not.toContain(secret.slice(6));
  });
});

describe('webhooks listen', () => {
  /** Listens, and runs a function once it is listening. */
  async function listening(flags: string[], action: (url: string, interrupt: () => void) => Promise<void>) {
    let interrupt: () => void = () => undefined;
    let startPromise: Promise<void> | undefined;
    const result = await service.cli(['webhooks', 'listen', ...flags], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout, stderr) => {
        const url = /(http:\/\/127\.0\.0\.1:\d+\/)/.exec(stdout + stderr)?.[1];
        if (url !== undefined) startPromise ??= action(url, interrupt);
      },
    });
    await startPromise;
    return result;
  }

  it('subscribes, prints valid deliveries, ends with the event, and leaves no webhook behind', async () => {
    const output = await listening(['--subscribe', '--until', 'run.completed'], async () => void (await completeRun()));
    expect(output.code).toBe(0);
    expect(output.stdout).toMatch(/^\d\d:\d\d:\d\d {2}.*run\.started {2}[0-9a-f-]{36} {2}running$/m);
    expect(output.stdout).toMatch(/run\.message\.created {2}[0-9a-f-]{36} {2}hi$/m);
    expect(output.stdout.trimEnd()).toMatch(/run\.completed {2}[0-9a-f-]{36} {2}completed$/);
    expect((await service.cli(['webhooks', 'list', '-o', 'id'])).stdout).toBe('');
  });

  it.each([
    ['as the service records them', []],
    ['as they are received', ['--forward-to', 'hook']],
  ])('prints events in the form that a filter gives them, %s, and ends if it cannot be applied', async (_, argv) => {
    hook.answer = (response) => response.writeHead(204).end();
    const flags = [
      '--subscribe',
      '--event',
      'run.completed',
      '--json',
      '--timeout',
      '20s',
      ...argv.map((word) => (word === 'hook' ? hook.url : word)),
    ];
    const filtered = await listening(
      [...flags, '--until', 'run.completed', '--jq', '.event // .url'],
      async () => void (await completeRun()),
    );
    expect(filtered.code).toBe(0);
    expect(filtered.stdout).toMatch(/^(http:\/\/127\.0\.0\.1:\d+\/\n)?run\.completed\n$/);
    const failed = await listening([...flags, '--jq', '.url // error("no URL")'], async () => void (await completeRun()));
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/Event \d, delivery, cannot be printed: --jq: no URL/);
    const refused = await listening([...flags, '--jq', '.url // error("forged")'], async (url) => {
      // The listener may not accept deliveries yet.
      const sendForged = async () => (await fetch(url, { method: 'POST', body: '{}' })).status !== 503;
      await eventually('a forged delivery arrives', () => sendForged().catch(() => true));
    });
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/\n$/) });
    expect(refused.stderr).toMatch(/Event 2, refused, cannot be printed: --jq: forged/);
    // They can be continued with another filter, and the token of the last event.
    const left = (await service.cli(['webhooks', 'list', '-o', 'id'])).stdout.trim().split('\n');
    expect(left).toHaveLength(2);
    for (const id of left) expect(await service.cli(['webhooks', 'delete', id, '--yes'])).toMatchObject({ code: 0 });
  });

  it('ends with Ctrl-C without leaving a webhook behind', async () => {
    const output = await listening(['--subscribe'], async (_, interrupt) => interrupt());
    expect(output).toMatchObject({ code: 0, stdout: '' });
    expect((await service.cli(['webhooks', 'list', '-o', 'id'])).stdout).toBe('');
  });

  it('gives up after --timeout if the event does not arrive', async () => {
    const output = await listening(['--until', 'run.failed', '--timeout', '300ms'], async () => undefined);
    expect(output).toMatchObject({ code: 9, stdout: '' });
  });

  it('rejects invalid deliveries, marks repeats, and forwards bodies unchanged', async () => {
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    await service.file('own.txt', secret);
    hook.deliveries.length = 0;
    hook.answer = (response) => response.writeHead(202).end();
    const body = '{ "type": "run.completed",\t"data": {"run": {"id": "r", "status": "done \\u001b"}} }';
    const statuses: number[] = [];
    const post = async (url: string, headers: Record<string, string>, method = 'POST') =>
      statuses.push((await fetch(url, { method, headers, ...(method === 'POST' ? { body } : {}) })).status);
    const output = await listening(['--secret', '@own.txt', '--forward-to', hook.url, '--json'], async (url, interrupt) => {
      const validHeaders = signedHeaders([secret], 'e1', Date.now(), body);
      await post(url, { ...validHeaders, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` });
      await post(url, {});
      await post(url, {}, 'GET');
      await post(url, validHeaders);
      await post(url, validHeaders);
      interrupt();
    });
    expect(statuses).toEqual([400, 400, 405, 202, 202]);
    expect(output.code).toBe(0);
    const lines = output.lines<Record<string, unknown>>();
    expect(lines.map(({ type }) => type)).toEqual(['listening', 'refused', 'refused', 'delivery', 'delivery']);
    expect(lines[1]).toMatchObject({ reason: 'no_match' });
    expect(lines[3]).toMatchObject({ id: 'e1', event: 'run.completed', duplicate: false, forwarded: { status: 202 }, body });
    expect(lines[4]).toMatchObject({ duplicate: true });
    // A repeat is forwarded too: the first attempt may have failed, or somebody resent it on purpose.
    expect(hook.deliveries).toHaveLength(2);
    expect(hook.deliveries[0]?.body.toString()).toBe(body);
    expect(hook.deliveries[0]?.headers).toMatchObject({ 'webhook-id': 'e1' });
  });

  it('forwards each event to its route, and reports the response to the sender and to the reader', async () => {
    const other = await Receiver.start();
    whenDone(() => other.close());
    hook.deliveries.length = 0;
    hook.answer = (response) => response.writeHead(500).end();
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    await service.file('own.txt', secret);
    const statuses: number[] = [];
    const routes = ['--route', `run.failed=${hook.url}`, '--route', `run.completed=${other.url}`];
    const output = await listening(['--secret', '@own.txt', ...routes, '--until', 'run.started'], async (url) => {
      for (const type of ['run.failed', 'run.failed', 'run.completed', 'run.started']) {
        const body = JSON.stringify({ type, data: {} });
        const headers = signedHeaders([secret], `id-${type}`, Date.now(), body);
        statuses.push((await fetch(url, { method: 'POST', headers, body })).status);
      }
    });
    expect(output.code).toBe(0);
    expect(statuses).toEqual([500, 500, 204, 204]);
    expect([hook.kinds, other.kinds]).toEqual([['run.failed', 'run.failed'], ['run.completed']]);
    const lines = output.stdout.split('\n').map((line) => line.replace(/^\S+ +/, '').replace(/\d+ ms/, 'N ms'));
    expect(lines).toEqual([
      'run.failed  -> 500 POST /hook (N ms)',
      'run.failed  (again)  -> 500 POST /hook (N ms)',
      'run.completed  -> 204 POST /hook (N ms)',
      'run.started',
      '',
    ]);
  });

  it('does not end at an event that is not signed or that the address has not accepted, but when its sender repeats it', async () => {
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    await service.file('own.txt', secret);
    const statuses: number[] = [];
    const argv = ['--secret', '@own.txt', '--route', `run.failed=${hook.url}`, '--until', 'run.failed'];
    const output = await listening(argv, async (url) => {
      statuses.push((await fetch(url, { method: 'POST', body: JSON.stringify({ type: 'run.failed', data: {} }) })).status);
      for (const status of [300, 204]) {
        hook.answer = (response) => response.writeHead(status).end();
        const body = JSON.stringify({ type: 'run.failed', data: {} });
        const headers = signedHeaders([secret], 'repeated', Date.now(), body);
        statuses.push((await fetch(url, { method: 'POST', headers, body })).status);
      }
    });
    expect({ code: output.code, statuses }).toEqual({ code: 0, statuses: [400, 300, 204] });
  });

  it.each([
    ['a route without an address', ['--route', 'run.failed'], '--route must have the form EVENT=URL, not "run.failed".'],
    ['a route for an unknown event', ['--route', 'run.fail=http://127.0.0.1/'], 'Did you mean run.failed?'],
    ['a route to something else', ['--route', 'run.failed=ftp://127.0.0.1/'], 'The address of --route must be an http or https address'],
    [
      'two routes for an event',
      ['--route', 'run.failed=http://127.0.0.1/a', '--route', 'run.failed=http://127.0.0.1/b'],
      '--route run.failed appears twice.',
    ],
  ])('rejects %s', async (_, flags, message) => {
    const refusal = await service.cli(['webhooks', 'listen', ...flags, '--timeout', '5s']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });

  it('reports a port that is in use', async () => {
    const { port } = new URL(hook.url);
    expect(await service.cli(['webhooks', 'listen', '--port', port])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('webhooks trigger', () => {
  const trigger = (...argv: string[]) => service.cli(['webhooks', 'trigger', ...argv]);

  it('sends a signed test event to the webhooks that receive it, with changed data', async () => {
    hook.deliveries.length = 0;
    hook.answer = (response) => response.writeHead(204).end();
    const id = await createWebhook('--event', 'run.failed');
    const result = await trigger('run.failed', '-f', 'run[error]=disk full', '--json');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const { event_id, deliveries } = result.json<{ event_id: string; deliveries: { id: string; event_id: string }[] }>();
    expect(deliveries).toMatchObject([{ event_id, event: 'run.failed', subscription_id: id, run_id: null }]);
    const [delivery] = await hook.count(1);
    const secret = (await service.cli(['webhooks', 'secret', 'show', '--reveal', '--jq', '.secret'])).stdout.trim();
    expect(verifyWithLibrary(secret, delivery as ReceivedDelivery)).toMatchObject({
      id: event_id,
      type: 'run.failed',
      test: true,
      team_id: service.service.teamId,
      data: { run: { status: 'failed', error: 'disk full', run_number: 42 } },
    });
    const nobody = await trigger('run.completed');
    expect(nobody).toMatchObject({ code: 6, stdout: '' });
    expect(nobody.stderr).toContain('No enabled webhook of the team receives run.completed; create one, or name a webhook.');
    expect(await trigger('run.completed', '--webhook', id, '--input', '-')).toMatchObject({ code: 2 });
    expect((await trigger('run.completed', '--webhook', id)).code).toBe(0);
    expect((await hook.count(2))[1]?.json).toMatchObject({ type: 'run.completed', test: true });
    await service.cli(['webhooks', 'delete', id, '--yes']);
    expect((await trigger('run.completed', '--webhook', id)).code).toBe(3);
  });

  it('sends it from this machine with --to, and reports what the receiver answered', async () => {
    hook.deliveries.length = 0;
    hook.answer = (response) => response.writeHead(500).end();
    await service.file('data.json', '{"mine":1}');
    const result = await trigger('human_request.created', '--to', hook.url, '--input', 'data.json');
    expect(result.code).toBe(1);
    expect(result.stderr).toBe(`error: ${hook.url} responded with 500.\nhint: A receiver accepts a delivery with any 2xx status.\n`);
    expect(result.stdout).toMatch(/^Event\t[0-9a-f-]{36}\nURL\thttp.*\nResponse\t500\n$/);
    const secret = (await service.cli(['webhooks', 'secret', 'show', '--reveal', '--jq', '.secret'])).stdout.trim();
    expect(verifyWithLibrary(secret, hook.deliveries[0] as ReceivedDelivery)).toMatchObject({ test: true, data: { mine: 1 } });
    const offline = { AOPS_BASE_URL: 'http://127.0.0.1:9', AOPS_API_KEY: '', AOPS_TEAM_ID: '', AOPS_WEBHOOK_SECRET: secret };
    hook.answer = (response) => response.writeHead(204).end();
    expect((await service.cli(['webhooks', 'trigger', 'run.failed', '--to', hook.url], { env: offline })).code).toBe(0);
    expect(verifyWithLibrary(secret, hook.deliveries[1] as ReceivedDelivery)).toMatchObject({ test: true });
    const plan = await trigger('run.failed', '--to', hook.url, '--dry-run', '--json');
    expect(plan.json()).toMatchObject({ method: 'POST', url: hook.url, body: { type: 'run.failed', test: true } });
    expect(hook.deliveries).toHaveLength(2);
  });

  it.each([
    ['an unknown event', ['run.fail'], 'Did you mean run.failed?'],
    ['two targets', ['run.failed', '--to', 'http://127.0.0.1/', '--webhook', unknownId], '--to and --webhook cannot be combined.'],
    ['a secret for the service', ['run.failed', '--secret', '-'], '--secret requires --to'],
    ['data that is not an object', ['run.failed', '--input', 'list.json'], 'The data of an event must be a JSON object'],
  ])('rejects %s', async (_, argv, message) => {
    await service.file('list.json', '[]');
    const refusal = await trigger(...argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });

  it('completes the event', async () => {
    expect((await service.cli(['__complete', '--', 'webhooks', 'trigger', 'run.f'])).stdout).toBe('run.failed\t\nrun.file.created\t\n');
  });
});

describe('a service without the extensions', () => {
  it('is reported not to offer them', async () => {
    const { createServer } = await import('node:http');
    const otherServer = createServer((_, response) =>
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"route_not_found","message":"No such route."}'),
    );
    await new Promise<void>((resolve) => otherServer.listen(0, '127.0.0.1', resolve));
    whenDone(() => otherServer.close());
    const env = { AOPS_BASE_URL: `http://127.0.0.1:${(otherServer.address() as { port: number }).port}` };
    const refusal = await service.cli(['webhooks', 'deliveries'], { env });
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toContain('This service does not offer listWebhookDeliveries (GET /v2/teams/{teamId}/webhook-deliveries).');
    const chatRefusal = await service.cli(['webhooks', 'create', 'https://hooks.example.com/', '--format', 'slack'], { env });
    expect(chatRefusal).toMatchObject({ code: 3, stdout: '' });
    expect(chatRefusal.stderr).toContain('This service does not offer webhooks for chat programs.');
    const plainResult = await service.cli(['webhooks', 'list'], { env });
    expect(plainResult.stderr).toContain('No such route.');
  });
});

describe('teams get', () => {
  it('shows the team', async () => {
    const team = await service.cli(['teams', 'get', '--json']);
    expect(team.json()).toMatchObject({ id: service.service.teamId, name: 'Local' });
    expect((await service.cli(['teams', 'get', unknownId])).code).toBe(3);
  });
});
