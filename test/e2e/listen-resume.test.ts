/** `webhooks listen` that is killed with SIGKILL again and again and continues, as processes that append to a file. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { jsonValue } from '../../src/base/values.ts';
import { signedHeaders } from '../../src/service/engine/webhooks/signature.ts';
import { eventually } from '../support/eventually.ts';
import { kill, Machine } from '../support/machine.ts';
import { closedPort } from '../support/ports.ts';
import { randomFrom } from '../support/random.ts';

interface Printed {
  seq: number;
  type: string;
  id: string;
  body: string;
  duplicate: boolean;
  resume: string;
}

/** A listener whose output is appended to a file, and which can be killed and continued. */
class KilledListener {
  readonly #machine: Machine;
  readonly #file: string;
  readonly #command: string;
  #process: ReturnType<Machine['start']> | undefined;

  constructor(machine: Machine, name: string, flags: string) {
    this.#machine = machine;
    this.#file = path.join(machine.folder, `${name}.ndjson`);
    this.#command = `exec aops webhooks listen ${flags} --json --resume @${this.#file} >> ${this.#file}`;
  }

  async events(): Promise<Printed[]> {
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    return text.split('\n').flatMap((line) => (jsonValue(line) as Printed | undefined) ?? []);
  }

  async deliveries(): Promise<Printed[]> {
    return (await this.events()).filter(({ type }) => type === 'delivery');
  }

  /** Starts it, and waits until it listens. */
  async start(): Promise<void> {
    const before = (await this.#listening()).length;
    this.#process = this.#machine.start('sh', ['-c', this.#command]);
    await eventually('it listens', async () => (await this.#listening()).length > before);
  }

  async kill(): Promise<void> {
    kill(this.#process?.child.pid as number, 'SIGKILL');
    await this.#process?.finished;
  }

  async interrupt(): Promise<void> {
    this.#process?.child.kill('SIGINT');
    expect(await this.#process?.finished).toMatchObject({ code: 0, stderr: '' });
  }

  async #listening(): Promise<Printed[]> {
    return (await this.events()).filter(({ type }) => type === 'listening');
  }
}

const numbered = (events: readonly Printed[]) => events.map(({ seq }) => seq);

it('a temporary webhook is continued after each kill, and prints what one that was never killed prints', async () => {
  const machine = await Machine.create();
  expect((await machine.here('local', 'up')).code).toBe(0);
  const runs = 4;
  await machine.agent('talks', Array.from({ length: 6 }, (_, index) => `- say: "${index}"`).join('\n'));
  const random = randomFrom(4);
  const [reference, killed] = ['reference', 'killed'].map((name) => new KilledListener(machine, name, '--subscribe')) as [
    KilledListener,
    KilledListener,
  ];
  await reference.start();
  await killed.start();
  for (let run = 1; run <= runs; run += 1) {
    const known = (await killed.deliveries()).length;
    const killAt = known + Math.floor(random() * 8);
    await machine.runUntil('talks', 'completed');
    await eventually('some are printed', async () => (await killed.deliveries()).length >= killAt);
    await killed.kill();
    // It may be down while more is recorded.
    if (random() < 0.5) await machine.runUntil('talks', 'completed');
    await killed.start();
  }
  const { data: webhooks } = await machine.hereJson<{ data: { id: string }[] }>('webhooks', 'list');
  expect(webhooks).toHaveLength(2);
  const { total } = await machine.hereJson<{ total: number }>('webhooks', 'deliveries', '--webhook', webhooks[0]?.id as string);
  await eventually('everything is printed', async () => {
    const counts = [(await reference.deliveries()).length, (await killed.deliveries()).length];
    return counts.every((count) => count >= total);
  });
  await reference.interrupt();
  await killed.interrupt();
  const inShort = (events: readonly Printed[]) => events.map(({ id, body, duplicate }) => ({ id, body: jsonValue(body), duplicate }));
  expect(inShort(await killed.deliveries())).toEqual(inShort(await reference.deliveries()));
  const events = await killed.events();
  expect(numbered(events)).toEqual(events.map((_, index) => index + 1));
});

it('deliveries from anywhere are each printed once, and what was accepted is never lost', async () => {
  const machine = await Machine.create();
  const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
  const file = await machine.file('secret.txt', secret);
  const port = await closedPort();
  const listener = new KilledListener(machine, 'received', `--secret @${file} --port ${port}`);
  const ids = Array.from({ length: 120 }, (_, index) => `event-${index}`);
  const random = randomFrom(9);
  let sent = 0;
  let hasEnded = false;
  /** Sends each until it is accepted, as a service does. */
  const send = async (): Promise<void> => {
    for (let id = ids[sent++]; id !== undefined; id = ids[sent++]) {
      const body = JSON.stringify({ type: 'run.completed', id });
      await eventually(`${id} is accepted`, async () => {
        const headers = signedHeaders([secret], id as string, Date.now(), body);
        const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body }).catch(() => undefined);
        return response?.status === 204;
      });
    }
  };
  await listener.start();
  const sending = Promise.all(Array.from({ length: 3 }, send)).finally(() => {
    hasEnded = true;
  });
  for (let kills = 0; kills < 4 && !hasEnded; kills += 1) {
    const killAt = (await listener.deliveries()).length + 1 + Math.floor(random() * 15);
    await eventually('some are printed', async () => hasEnded || (await listener.deliveries()).length >= killAt);
    await listener.kill();
    await listener.start();
  }
  await sending;
  await listener.interrupt();
  const events = await listener.events();
  expect((await listener.deliveries()).map(({ id, duplicate }) => [id, duplicate]).toSorted()).toEqual(
    ids.map((id) => [id, false]).toSorted(),
  );
  expect(numbered(events)).toEqual(events.map((_, index) => index + 1));
});
