/** `webhooks listen --webhook`: the deliveries of a webhook as a stream that can be continued. */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { WebhookDelivery } from '../../src/interface/types.ts';
import { signedHeaders } from '../../src/service/engine/webhooks/signature.ts';
import { eventually } from '../support/eventually.ts';
import { closedPort } from '../support/ports.ts';
import type { CliResult } from '../support/run-cli.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { whenDone } from '../support/temporary.ts';
import { Receiver } from '../support/webhook-receiver.ts';

interface Printed {
  seq: number;
  type: string;
  delivery_id: string;
  event: string;
  body: string;
  signed_at: string | null;
  resume: string;
}

let service: TestService;
let agent: string;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent('- say: hi');
});

/** A webhook to a port at which nothing listens. */
async function newWebhook(): Promise<string> {
  const result = await service.cli(['webhooks', 'create', `http://127.0.0.1:${await closedPort()}/`, '-o', 'id']);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return result.stdout.trim();
}

async function completeRun(): Promise<void> {
  await service.until(await service.start(agent), 'completed');
}

/** The IDs of all deliveries of a webhook, oldest first. */
async function recordedIds(webhook: string): Promise<string[]> {
  const result = await service.cli(['webhooks', 'deliveries', '--webhook', webhook, '--all', '--json']);
  return result
    .json<{ data: WebhookDelivery[] }>()
    .data.map(({ id }) => id)
    .toReversed();
}

/** Listens until it has printed this many deliveries. */
async function listen(
  flags: readonly string[],
  count: number,
  onListening: (url: string) => Promise<void> = async () => undefined,
  stderr: unknown = '',
) {
  let interrupt: () => void = () => undefined;
  let work: Promise<void> | undefined;
  let isComplete = false;
  const result = await service.cli(['webhooks', 'listen', '--json', ...flags], {
    onStart: (deliver) => {
      interrupt = deliver;
    },
    onOutput: (stdout) => {
      const url = /"url":"(http:[^"]+)"/.exec(stdout)?.[1];
      if (url !== undefined) work ??= onListening(url);
      if (isComplete || stdout.split('"type":"delivery"').length <= count) return;
      isComplete = true;
      void work?.then(interrupt);
    },
  });
  await work;
  expect(result).toMatchObject({ code: 0, stderr });
  const [listening, ...deliveries] = result.lines<Printed>();
  expect(listening?.type).toBe('listening');
  return { listening: listening as Printed, deliveries };
}

describe('the deliveries of a webhook', () => {
  it('continue with --resume auto, with those that were made while nobody listened', async () => {
    const webhook = await newWebhook();
    await completeRun();
    const flags = ['--webhook', webhook, '--resume', 'auto'];
    // At first, only what happens from now on is printed.
    const earlier = (await recordedIds(webhook)).length;
    const first = await listen(flags, 1, completeRun);
    await completeRun();
    const all = (await recordedIds(webhook)).slice(earlier);
    const second = await listen(flags, all.length - first.deliveries.length);
    expect([...first.deliveries, ...second.deliveries].map(({ delivery_id }) => delivery_id)).toEqual(all);
    const seqs = [first.listening, ...first.deliveries, second.listening, ...second.deliveries].map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    for (const { event, body, signed_at } of second.deliveries)
      expect([event, signed_at]).toEqual([(JSON.parse(body) as { type: string }).type, null]);
  });

  it('continue after any of them with its token', async () => {
    const webhook = await newWebhook();
    const { listening, deliveries } = await listen(['--webhook', webhook], 3, completeRun);
    for (const [index, { resume }] of [listening, ...deliveries].slice(0, -1).entries()) {
      const rest = deliveries.slice(index);
      const repeated = await listen(['--webhook', webhook, '--resume', resume], rest.length);
      const inShort = (from: readonly Printed[]) => from.map(({ delivery_id, event, body }) => [delivery_id, event, JSON.parse(body)]);
      expect(inShort(repeated.deliveries)).toEqual(inShort(rest));
    }
  });

  it('are acknowledged once they were printed, and printed only once', async () => {
    const webhook = await newWebhook();
    const isDelivered = async (): Promise<boolean> => {
      const { data } = (await service.cli(['webhooks', 'deliveries', '--webhook', webhook, '--json'])).json<{ data: WebhookDelivery[] }>();
      return data.length >= 3 && data.every(({ status }) => status === 'delivered');
    };
    const { deliveries } = await listen(['--webhook', webhook], 3, async (url) => {
      await service.cli(['webhooks', 'update', webhook, '--url', url]);
      await completeRun();
      await eventually('everything is delivered', isDelivered);
    });
    expect(deliveries.map(({ delivery_id }) => delivery_id)).toEqual(await recordedIds(webhook));
  });

  it('end with --until', async () => {
    const webhook = await newWebhook();
    const { listening } = await listen(['--webhook', webhook], 3, completeRun);
    const argv = ['webhooks', 'listen', '--webhook', webhook, '--resume', listening.resume, '--until', 'run.message.created'];
    const result = await service.cli(argv);
    expect(result.code).toBe(0);
    expect(result.stdout.trimEnd().split('\n').at(-1)).toMatch(/run\.message\.created {2}[0-9a-f-]{36} {2}hi$/);
  });
});

describe('it is refused', () => {
  it.each([
    ['a temporary webhook', ['--webhook', 'WEBHOOK', '--subscribe'], '--webhook and --subscribe cannot be combined'],
    ['forwarding', ['--webhook', 'WEBHOOK', '--forward-to', 'http://127.0.0.1:9/'], '--webhook and --forward-to cannot'],
    ['a text that is not a token', ['--webhook', 'WEBHOOK', '--resume', 'r1abc'], 'not a resume token'],
    ['the token of another webhook', ['--webhook', 'WEBHOOK', '--resume', 'TOKEN'], 'belongs to webhook'],
  ])('to use %s', async (_, flags, message) => {
    const webhook = await newWebhook();
    const token = flags.includes('TOKEN') ? (await listen(['--webhook', await newWebhook()], 1, completeRun)).listening.resume : '';
    const argv = flags.map((flag) => (flag === 'WEBHOOK' ? webhook : flag === 'TOKEN' ? token : flag));
    expect(await service.cli(['webhooks', 'listen', ...argv])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });

  it('to listen for a webhook that does not exist', async () => {
    const result = await service.cli(['webhooks', 'listen', '--webhook', '00000000-0000-4000-8000-000000000000']);
    expect(result).toMatchObject({ code: 3, stdout: '' });
  });
});

describe('a temporary webhook', () => {
  const webhooks = async () =>
    (await service.cli(['webhooks', 'list', '--json'])).json<{ data: { id: string; expires_at: string }[] }>().data;

  it('is kept with --resume, continues with the deliveries in between, and is removed without --resume', async () => {
    const known = (await webhooks()).map(({ id }) => id);
    const flags = ['--subscribe', '--resume', 'auto:temporary'];
    const first = await listen(flags, 3, completeRun);
    const [kept, ...others] = (await webhooks()).filter(({ id }) => !known.includes(id));
    expect(others).toEqual([]);
    expect(Date.parse(kept?.expires_at as string)).toBeGreaterThan(Date.now());
    await completeRun();
    const all = await recordedIds(kept?.id as string);
    expect(all.length).toBeGreaterThan(3);
    const second = await listen(flags, all.length - first.deliveries.length);
    expect([...first.deliveries, ...second.deliveries].map(({ delivery_id }) => delivery_id)).toEqual(all);
    const seqs = [first.listening, ...first.deliveries, second.listening, ...second.deliveries].map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    // A token works as well, also after the webhook was continued.
    const third = await listen(['--subscribe', '--resume', first.deliveries[0]?.resume as string], all.length - 1);
    expect(third.deliveries.map(({ delivery_id }) => delivery_id)).toEqual(all.slice(1));
    await service.cli(['webhooks', 'delete', kept?.id as string, '--yes']);
    const token = second.listening.resume;
    const refusal = await service.cli(['webhooks', 'listen', '--subscribe', '--resume', token]);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('The temporary webhook of this resume token no longer exists.');
  });

  it('that no longer exists is replaced with --resume auto, with a warning', async () => {
    const flags = ['--subscribe', '--event', 'run.completed', '--resume', 'auto', '--json', '--until', 'run.completed'];
    const listening = async (): Promise<CliResult> => {
      let work: Promise<void> | undefined;
      const result = await service.cli(['webhooks', 'listen', ...flags], {
        onOutput: (stdout) => {
          if (stdout.includes('"listening"')) work ??= completeRun();
        },
      });
      await work;
      return result;
    };
    const first = await listening();
    expect(first).toMatchObject({ code: 0, stderr: '' });
    for (const { id, expires_at } of await webhooks()) if (expires_at !== null) await service.cli(['webhooks', 'delete', id, '--yes']);
    const second = await listening();
    expect(second.code).toBe(0);
    expect(second.stderr).toContain('The temporary webhook of the stored position no longer exists');
    expect([...first.lines<Printed>(), ...second.lines<Printed>()].map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    for (const { id, expires_at } of await webhooks()) if (expires_at !== null) await service.cli(['webhooks', 'delete', id, '--yes']);
  });

  it('prints what somebody sends again', async () => {
    let work: Promise<void> | undefined;
    let interrupt: () => void = () => undefined;
    const result = await service.cli(['webhooks', 'listen', '--subscribe', '--event', 'run.completed', '--json'], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (stdout) => {
        if (!stdout.includes('"listening"')) return;
        work ??= (async () => {
          await completeRun();
          const [webhook] = (await webhooks()).filter(({ expires_at }) => expires_at !== null);
          const [delivery] = await eventually('it is delivered', async () => {
            const argv = ['webhooks', 'deliveries', '--webhook', webhook?.id as string, '--status', 'delivered', '-o', 'id'];
            const { stdout: ids } = await service.cli(argv);
            return ids.trim() !== '' && ids.trim().split('\n');
          });
          await service.cli(['webhooks', 'resend', delivery as string]);
        })();
        if (stdout.includes('"duplicate":true')) interrupt();
      },
    });
    await work;
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const [, first, second] = result.lines<Printed & { id: string; duplicate: boolean; headers: Record<string, string> }>();
    expect([second?.id, first?.duplicate, second?.duplicate]).toEqual([first?.id, false, true]);
    expect(Object.keys(first?.headers ?? {}).toSorted()).toEqual(['webhook-id', 'webhook-signature', 'webhook-timestamp']);
    expect((await webhooks()).filter(({ expires_at }) => expires_at !== null)).toEqual([]);
  });

  it('that forwards continues, too', async () => {
    const hook = await Receiver.start();
    whenDone(() => hook.close());
    const flags = ['--subscribe', '--event', 'run.completed', '--forward-to', hook.url, '--resume', 'auto'];
    const first = await listen(flags, 1, completeRun);
    await completeRun();
    const second = await listen(flags, 1);
    expect([...first.deliveries, ...second.deliveries].map(({ event }) => event)).toEqual(['run.completed', 'run.completed']);
    expect(hook.kinds).toEqual(['run.completed', 'run.completed']);
    const [kept] = (await webhooks()).filter(({ expires_at }) => expires_at !== null);
    await service.cli(['webhooks', 'delete', kept?.id as string, '--yes']);
  });

  it('ends only at a recorded event that the address had accepted', async () => {
    const hook = await Receiver.start();
    whenDone(() => hook.close());
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    await service.file('own.txt', secret);
    const flags = ['--secret', '@own.txt', '--forward-to', hook.url];
    const { listening } = await listen([...flags, '--resume', 'auto'], 3, async (url) => {
      for (const [id, status] of [
        ['first', 500],
        ['first', 204],
        ['second', 204],
      ] as const) {
        hook.answer = (response) => response.writeHead(status).end();
        const body = JSON.stringify({ type: 'run.failed', data: {} });
        await fetch(url, { method: 'POST', headers: signedHeaders([secret], id, Date.now(), body), body });
      }
    });
    const again = await service.cli(['webhooks', 'listen', '--json', ...flags, '--until', 'run.failed', '--resume', listening.resume]);
    const repeated = again.lines<{ id: string; forwarded: { status: number } }>();
    expect({ code: again.code, statuses: repeated.map(({ forwarded }) => forwarded.status) }).toEqual({ code: 0, statuses: [500, 204] });
  });

  it('warns with --resume auto if the events after the stored position are gone, and goes on', async () => {
    const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    await service.file('own.txt', secret);
    const flags = ['--secret', '@own.txt', '--port', String(await closedPort()), '--resume', 'auto'];
    const receive = (id: string) => async (url: string) => {
      const body = JSON.stringify({ type: 'run.failed', data: {} });
      await fetch(url, { method: 'POST', headers: signedHeaders([secret], id, Date.now(), body), body });
    };
    await listen(flags, 1, receive('first'));
    const folder = path.join(service.folder, 'data', 'positions');
    for (const name of await readdir(folder)) if (name.endsWith('.journal')) await rm(path.join(folder, name));
    const warning = expect.stringContaining('are no longer stored on this machine, so some may be missing');
    const { deliveries } = await listen(flags, 1, receive('second'), warning);
    expect(deliveries).toMatchObject([{ id: 'second' }]);
  });

  it('cannot be continued with the token of another webhook', async () => {
    const { listening } = await listen(['--webhook', await newWebhook()], 1, completeRun);
    const refusal = await service.cli(['webhooks', 'listen', '--subscribe', '--resume', listening.resume]);
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('belongs to webhook') });
  });
});
