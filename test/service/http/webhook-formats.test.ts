/** Webhooks for chat programs, and the links in their messages. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { UrlSigner } from '../../../src/service/signed-urls.ts';
import { type ReceivedDelivery, verifyWithLibrary } from '../../support/webhook-receiver.ts';
import { ManualClock } from '../helpers/clock.ts';
import type { Behaviour } from '../helpers/runtime.ts';
import { startApi } from '../helpers/service.ts';
import { delivery, failure, nextAttempt, receiver } from '../helpers/webhooks.ts';

const wait: Behaviour = async () => ({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay <!channel>?' } });
const day = 24 * 60 * 60 * 1_000;

interface SlackBody {
  blocks: { text: { text: string } }[];
}
const linkIn = (body: SlackBody): string => /<(.+)\|Open the request>/.exec(body.blocks.at(-1)?.text.text ?? '')?.[1] ?? '';

it('a message for Slack is the same in every attempt, and leads to the request without deciding anything', async () => {
  const clock = new ManualClock();
  const service = await startApi({ clock, behaviours: { wait }, publicUrl: 'https://agents.example.com' });
  const hook = await receiver();
  hook.answer = (response, number) => response.writeHead(number === 1 ? 500 : 200).end('ok');
  const { webhook } = await service.ok('createTeamWebhook', { body: { url: hook.url, format: 'slack' } });
  expect(webhook).toMatchObject({
    format: 'slack',
    events: ['human_request.created', 'run.failed', 'connection.action_required', 'webhook.disabled'],
  });
  const run = await service.run('wait');
  const { pending_human_request: request } = await service.until(run.id, 'waiting');
  const first = await delivery(service, ({ attempt_count }) => attempt_count === 1);
  expect(await nextAttempt(service, clock, first)).toMatchObject({ status: 'delivered', event: 'human_request.created' });
  const [one, two] = hook.deliveries;
  expect(two?.body).toEqual(one?.body);
  const body = two?.json as unknown as SlackBody;
  expect(body.blocks[0]?.text.text).toBe('Approval needed: Pay &lt;!channel&gt;?');
  // The log contains the event itself.
  expect((await service.ok('getWebhookDelivery', { params: { deliveryId: first.id } })).delivery.payload).toMatchObject({
    type: 'human_request.created',
    data: { human_request: { id: request?.id } },
  });

  const link = linkIn(body);
  expect(link).toMatch(/^https:\/\/agents\.example\.com\/open\/[\w-]+\.[\w-]+$/);
  const open = (path: string, method = 'GET') =>
    fetch(`${service.service.url}${path}`, { method, redirect: 'manual', headers: { host: 'agents.example.com' } });
  const { pathname } = new URL(link);
  for (const method of ['GET', 'HEAD', 'GET']) {
    const answer = await open(pathname, method);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `/#/runs/${run.id}`]);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await answer.text()).toBe('');
  }
  expect((await open(pathname, 'POST')).status).toBe(405);
  // The token is neither a credential nor a link to a file.
  const token = pathname.slice('/open/'.length);
  for (const path of [`/files/${token}`, `/v2/runs/${run.id}`]) {
    const answer = await fetch(`${service.service.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect([401, 403]).toContain(answer.status);
  }
  expect((await service.ok('getRun', { params: { run_id: run.id } })).pending_human_request).toEqual(request);

  const [payload = '', signature = ''] = token.split('.');
  const forged = Buffer.from(payload, 'base64url').toString().replace(run.id, service.service.teamId);
  const otherSigner = new UrlSigner(randomBytes(32).toString('base64url'));
  const grant = { kind: 'open_run', teamId: service.service.teamId, runId: run.id } as const;
  for (const bad of [
    'x',
    payload,
    `${Buffer.from(forged).toString('base64url')}.${signature}`,
    otherSigner.sign(grant, clock.now()).token,
  ]) {
    const answer = await open(`/open/${bad}`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8']);
    expect(await answer.text()).toContain('This link is not valid');
  }
  clock.set(Date.parse(first.created_at) + 7 * day - 1);
  expect((await open(pathname)).status).toBe(303);
  clock.set(Date.parse(first.created_at) + 7 * day);
  const expired = await open(pathname);
  expect([expired.status, await expired.text()]).toEqual([403, expect.stringContaining('This link has expired')]);
});

it('a link to a file does not open a run, and the address of the service is the default for links', async () => {
  const service = await startApi({ behaviours: { wait } });
  const hook = await receiver();
  await service.ok('createTeamWebhook', { body: { url: hook.url, format: 'teams', events: ['run.paused'] } });
  const run = await service.run('wait');
  const [message] = await hook.count(1);
  const card = message?.json as unknown as { attachments: { content: { actions: { url: string }[] } }[] } | undefined;
  const url = card?.attachments[0]?.content.actions[0]?.url ?? '';
  expect(url.startsWith(`${service.service.url}/open/`)).toBe(true);
  expect((await fetch(url, { redirect: 'manual' })).headers.get('location')).toBe(`/#/runs/${run.id}`);
  const { sandbox_id } = await service.ok('createSandbox', {});
  const upload = await service.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'a.txt' } });
  const answer = await fetch(upload.upload_url.replace('/uploads/', '/open/'), { redirect: 'manual' });
  expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('This link is not valid')]);
});

it('the format can be changed, and an unknown one is refused', async () => {
  const service = await startApi({ behaviours: { wait } });
  const hook = await receiver();
  const { webhook } = await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['run.started'] } });
  expect(webhook.format).toBe('standard');
  await service.ok('createTestWebhookEvent', { body: { type: 'run.started' } });
  await hook.count(1);
  const params = { subscriptionId: webhook.id };
  const changed = await service.ok('updateTeamWebhook', { params, body: { format: 'slack' } });
  expect(changed.webhook).toMatchObject({ format: 'slack', events: ['run.started'] });
  await service.ok('createTestWebhookEvent', { body: { type: 'run.started' } });
  const [standard, slack] = await hook.count(2);
  expect(standard?.json).toMatchObject({ type: 'run.started', test: true });
  expect(slack?.json).toMatchObject({ text: 'Test: Run #42 has started' });
  const { secret } = await service.ok('getTeamWebhookSecret');
  expect(verifyWithLibrary(secret, slack as ReceivedDelivery)).toEqual(slack?.json);
  const body = { url: hook.url, format: 'discord' };
  expect(failure(await service.call('createTeamWebhook', { body: body as never }))).toEqual([400, 'invalid_request']);
});
