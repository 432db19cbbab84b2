/**
 * Records calls and their answers as a text, which is compared with the one that was reviewed: every field of every answer, not only those
 * that a test is about. The clock shows a second more at each change, and stands still until everything that it caused is done, so
 * that the times are always the same. IDs are replaced by names, and what is random by words. The texts are in recordings/, and are the
 * same for both databases; review the differences, then accept them with `npx vitest run test/service/recorded -u`.
 */
import path from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { type OperationId, operation } from '../../../src/interface/operations.ts';
import type { Response } from '../../../src/interface/types.ts';
import type { Receiver } from '../../support/webhook-receiver.ts';
import { ManualClock } from '../helpers/clock.ts';
import { type Answer, type Api, type CallInput, config, startApi, type TestOptions } from '../helpers/service.ts';

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[1-9a-f][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;
/** What is different each time, although it is no ID. */
const random: [RegExp, string][] = [
  [/aops_[a-z]+_[\w-]{20,}/g, '(secret)'],
  [/whsec_[\w+/=-]+/g, '(webhook secret)'],
  [/eyJ[\w-]+\.[\w-]+/g, '(signed)'],
  // Tests of pages look at them.
  [/<style>.*?<\/style>/gs, '<style>(styles)</style>'],
  [/sha256-[\w+/]+=*/g, '(hash)'],
];
/** What the operation returns if its answer does not name it: `createAgent` returns an agent. */
const kindOf = (id: OperationId): string => id.replace(/^[a-z]+/, '').toLowerCase();

/** Calls an operation, and records the answer, whatever it is. */
export type RecordedCall = <Id extends OperationId>(id: Id, input?: CallInput) => Promise<Response<Id>>;

export class Recording {
  readonly api: Api;
  readonly clock: ManualClock;
  readonly #sections: string[] = [];
  readonly #names = new Map<string, string>();
  readonly #origins = new Map<string, string>();

  private constructor(api: Api, clock: ManualClock) {
    this.api = api;
    this.clock = clock;
    this.#origins.set(api.service.url, 'http://service');
  }

  static async start(options: TestOptions = {}): Promise<Recording> {
    const clock = new ManualClock();
    const rateLimit = { limit: 1e6, windowSeconds: 60 };
    return new Recording(await startApi({ clock, rateLimit, webhooks: { random: () => 0.5 }, ...options }), clock);
  }

  /** Replaces the address of another server, which has another port each time. */
  nameServer(url: string, name: string): void {
    this.#origins.set(new URL(url).origin, `http://${name}`);
  }

  readonly call: RecordedCall = (id, input) => this.#call(this.api, id, input);

  /** The same with another token. */
  as(api: Api): RecordedCall {
    return (id, input) => this.#call(api, id, input);
  }

  async #call<Id extends OperationId>(api: Api, id: Id, input: CallInput = {}): Promise<Response<Id>> {
    const isChange = operation(id).method !== 'GET';
    if (isChange) this.clock.advance(1_000);
    const answer = await api.call(id, input);
    this.#add(id, input, answer);
    if (isChange) await this.#settle();
    return answer.body;
  }

  /** Records a value under a title. */
  note(title: string, value: unknown): void {
    this.#sections.push(`# ${title}\n${this.#print(value)}`);
  }

  /** Records what has arrived at the receiver since it was noted last. */
  noteDeliveries(receiver: Receiver): void {
    const received = receiver.deliveries
      .splice(0)
      .map(({ path: url, headers: sent, json }) => ({ url, id: sent['webhook-id'], body: json }));
    // Those of the same time arrive in any order.
    const keyOf = (delivery: (typeof received)[number]): string =>
      `${delivery.body.timestamp} ${JSON.stringify(delivery).replaceAll(uuid, '')}`;
    this.note(
      'Received',
      received.sort((first, second) => (keyOf(first) < keyOf(second) ? -1 : 1)),
    );
  }

  /** Lets time pass, and waits until everything that has become due is done. */
  async pass(milliseconds: number): Promise<void> {
    this.clock.advance(milliseconds);
    await this.#settle();
  }

  /** Compares what was recorded with the file. */
  async expectToBe(name: string): Promise<void> {
    await expect(this.#sections.join('\n')).toMatchFileSnapshot(path.join(import.meta.dirname, 'recordings', `${name}.txt`));
  }

  #add(id: OperationId, { params, query, body }: CallInput, answer: Answer): void {
    const sent = [{ ...params, ...query }, body].filter(
      (part) => part !== undefined && !Buffer.isBuffer(part) && !(part instanceof FormData),
    );
    const type = String(answer.headers['content-type']);
    this.#sections.push(
      [
        id,
        ...sent.map((part) => `  ${JSON.stringify(this.#named(part))}`).filter((line) => line !== '  {}'),
        type.startsWith('application/json') ? answer.status : `${answer.status} ${type}`,
        this.#print(answer.body ?? answer.text, kindOf(id)),
      ].join('\n'),
    );
  }

  #print(value: unknown, kind?: string): string {
    return stringify(this.#named(value, kind), { lineWidth: 0, aliasDuplicateObjects: false });
  }

  /** The value with names in place of IDs. */
  #named(value: unknown, key = 'value'): unknown {
    // Of a file.
    if (key === 'modified_at' && value !== null) return '(time)';
    if (typeof value === 'string') return this.#plain(value, key);
    if (Array.isArray(value)) return value.map((item) => this.#named(item, key.replace(/ies$/, 'y').replace(/s$/, '')));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [this.#plain(name), this.#named(child, name === 'id' ? key : name)]),
    );
  }

  #plain(text: string, key = 'value'): string {
    let result = text;
    for (const [origin, name] of this.#origins) result = result.replaceAll(origin, name);
    for (const [pattern, word] of random) result = result.replaceAll(pattern, word);
    return result.replaceAll(uuid, (id) => this.#nameOf(id, key));
  }

  /** The kind of thing after the field in which its ID was first seen, and a number. */
  #nameOf(id: string, key: string): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const kind = key.replace(/^(added|author|claimed_by|current|last|pending|user(?=_message))_/, '').replace(/(_id|Id)$/, '');
    const number = [...this.#names.values()].filter((name) => name.startsWith(`<${kind} `)).length + 1;
    this.#names.set(id, `<${kind} ${number}>`);
    return `<${kind} ${number}>`;
  }

  /** Waits until no job is due or in progress. */
  async #settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const { text } = await this.api.send('GET', '/metrics');
      const counts = [...text.matchAll(/^aops_jobs_(?:due|running)\{[^}]*\} (\d+)/gm)].map(([, count]) => Number(count));
      quiet = counts.length > 0 && counts.every((count) => count === 0) ? quiet + 1 : 0;
    }
  }
}

/** The configuration of a revision with these steps. */
export const steps = (...lines: string[]) => config(`version: 1\nsteps:\n${lines.map((line) => `  - ${line}\n`).join('')}`, 'script');
