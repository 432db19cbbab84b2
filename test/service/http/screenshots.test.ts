import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { ManualClock } from '../helpers/clock.ts';
import { type Behaviour, Gate } from '../helpers/runtime.ts';
import { type Api, startApi } from '../helpers/service.ts';

const picture = (name: string, text = name) => ({
  name,
  mimeType: 'image/png',
  bytes: Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from(text)]),
});

/** Three tool calls: the second starts with the picture with which the first ended, the third has no picture at its end. */
const three: Behaviour = async (host) => {
  const timeAt = (seconds: number) => new Date(host.clock.now() + seconds * 1_000);
  const events = [
    {
      id: 'a',
      action: 'open',
      startedAt: timeAt(0),
      endedAt: timeAt(1),
      input: { url: 'http://shop.test/', title: 'Shop' },
      image: picture('a.png'),
    },
    {
      ...{
        id: 'b',
        action: 'click',
        startedAt: timeAt(2),
        endedAt: timeAt(4),
        input: { selector: '#pay', url: 'http://shop.test/pay', title: 'Pay' },
      },
      ...{ before: { of: 'a' }, image: picture('b ä.png') },
    },
    { id: 'c', action: 'click', startedAt: timeAt(5), input: { url: 'http://shop.test/' }, before: picture('c.png'), error: 'no element' },
  ];
  for (const event of events) await host.emit([{ kind: 'screenshot', toolName: 'browser', ...event }]);
  // The same events again with other pictures, as after a crash.
  for (const event of events.slice(0, 2))
    await host.emit([{ kind: 'screenshot', toolName: 'browser', ...event, image: picture(event.id, 'another') }]);
  return { status: 'completed' };
};

async function completeRun(api: Api): Promise<{ id: string; timeline: Awaited<ReturnType<typeof timelineOf>> }> {
  const { id } = await api.run('three');
  await api.until(id, 'completed');
  return { id, timeline: await timelineOf(api, id) };
}
const timelineOf = async (api: Api, id: string) =>
  (await api.ok('getRunScreenshotTimeline', { params: { run_id: id } })).data.toolExecutions;
const refusalOf = async (api: Api, url: string) => {
  const { status, body } = await api.send('GET', url, { anonymous: true });
  return [status, (body as { error?: string } | undefined)?.error];
};

describe('the screenshots of a run', () => {
  it('show every call once, in order, with the pictures before and after it', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, behaviours: { three } });
    const { id, timeline } = await completeRun(api);
    expect(timeline.map(({ action, input, error, startedAt, endedAt }) => ({ action, input, error, startedAt, endedAt }))).toEqual([
      {
        ...{ action: 'open', input: { url: 'http://shop.test/', title: 'Shop' }, error: undefined },
        ...{ startedAt: '2026-07-18T09:00:00.000Z', endedAt: '2026-07-18T09:00:01.000Z' },
      },
      {
        ...{ action: 'click', input: { selector: '#pay', url: 'http://shop.test/pay', title: 'Pay' }, error: undefined },
        ...{ startedAt: '2026-07-18T09:00:02.000Z', endedAt: '2026-07-18T09:00:04.000Z' },
      },
      // There is no end time, so the time at which it was recorded is used.
      {
        ...{ action: 'click', input: { url: 'http://shop.test/' }, error: 'no element' },
        ...{ startedAt: '2026-07-18T09:00:05.000Z', endedAt: '2026-07-18T09:00:00.000Z' },
      },
    ]);
    const [a, b, c] = timeline as [(typeof timeline)[number], (typeof timeline)[number], (typeof timeline)[number]];
    expect([a.beforeScreenshot, c.afterScreenshot]).toEqual([null, null]);
    expect(b.beforeScreenshot).toEqual(a.afterScreenshot);
    expect(b.afterScreenshot?.expiresAt).toBe('2026-07-18T09:15:00.000Z');
    // The pictures of the first attempt are kept.
    for (const [shot, text] of [
      [a.afterScreenshot, 'a.png'],
      [b.afterScreenshot, 'b ä.png'],
      [c.beforeScreenshot, 'c.png'],
    ] as const) {
      const answer = await api.send('GET', shot?.signedUrl ?? '', { anonymous: true });
      expect([answer.status, answer.headers['content-type'], answer.text.endsWith(text)]).toEqual([200, 'image/png', true]);
      // The URL ends with the name, for whoever saves the file.
      expect(decodeURIComponent(new URL(shot?.signedUrl ?? '').pathname)).toMatch(new RegExp(`/${text}$`));
    }

    const { pages } = await api.ok('listBrowserSessionPages', { params: { session_id: id } });
    expect(pages).toEqual([
      { url: 'http://shop.test/', title: null, screenshot_url: a.afterScreenshot?.signedUrl },
      { url: 'http://shop.test/pay', title: 'Pay', screenshot_url: b.afterScreenshot?.signedUrl },
    ]);
  });

  it('are available while the run continues, and only to its team', async () => {
    const gate = new Gate();
    const api = await startApi({
      behaviours: {
        three: async (host) => {
          await three(host);
          await gate.opened;
          return { status: 'completed' };
        },
      },
    });
    const { id } = await api.run('three');
    for (;;) if ((await timelineOf(api, id)).length === 3) break;
    gate.open();
    await api.until(id, 'completed');
    expect((await api.call('getRunScreenshotTimeline', { params: { run_id: '00000000-0000-4000-8000-000000000000' } })).status).toBe(404);
    expect((await api.send('GET', `/v2/agent-runs/${id}/screenshots/timeline`, { anonymous: true })).status).toBe(401);
  });
});

describe('a signed URL of a picture', () => {
  it('works for 15 minutes without a credential, and cannot be changed', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock, behaviours: { three } });
    const { id, timeline } = await completeRun(api);
    const url = timeline[0]?.afterScreenshot?.signedUrl ?? '';
    const [payload, signature] = (new URL(url).pathname.split('/')[2] ?? '').split('.') as [string, string];
    const urlOf = (token: string) => `${api.service.url}/files/${token}`;

    expect((await api.send('GET', urlOf(`${payload}.${signature}`), { anonymous: true })).status).toBe(200);
    expect((await api.send('HEAD', url, { anonymous: true })).status).toBe(200);
    expect((await api.send('GET', `${url}?a=b`, { anonymous: true })).status).toBe(200);
    const laterGrant = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { expiresAt: number };
    const prolongedGrant = Buffer.from(JSON.stringify({ ...laterGrant, expiresAt: laterGrant.expiresAt + 1 })).toString('base64url');
    for (const token of [`${prolongedGrant}.${signature}`, payload, `${payload}.`, `.${signature}`, `${payload}.${signature}x`, 'x', ''])
      expect(await refusalOf(api, urlOf(token))).toEqual([403, 'invalid_signature']);
    // Any other path requires a credential.
    expect(await refusalOf(api, `${url}/more`)).toEqual([401, 'invalid_token']);
    expect(await refusalOf(api, url.replace('/files/', '/uploads/'))).toEqual([401, 'invalid_token']);
    expect((await api.send('PUT', `${api.service.url}/uploads/${payload}.${signature}`, { anonymous: true, body: 'x' })).status).toBe(403);
    expect((await api.send('DELETE', url, { anonymous: true })).status).toBe(405);

    clock.advance(15 * 60_000 - 1);
    expect((await api.send('GET', url, { anonymous: true })).status).toBe(200);
    clock.advance(1);
    expect(await refusalOf(api, url)).toEqual([403, 'url_expired']);
    // Every read returns a new URL.
    const renewedUrl = (await timelineOf(api, id))[0]?.afterScreenshot?.signedUrl ?? '';
    expect((await api.send('GET', renewedUrl, { anonymous: true })).status).toBe(200);
  });

  itNeeding(needsSqlite, 'is answered with 404 if the picture is no longer on disk', async () => {
    const api = await startApi({ behaviours: { three } });
    const { id, timeline } = await completeRun(api);
    await rm(join(api.dataDirectory, 'files', id), { recursive: true });
    expect(await refusalOf(api, timeline[0]?.afterScreenshot?.signedUrl ?? '')).toEqual([404, 'run_file_not_found']);
  });
});
