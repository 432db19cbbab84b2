/** The file in which a listener records what it receives: what is known after it was killed, and after another file was begun. */
import { appendFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { ArrivalJournal } from '../../src/commands/webhooks/arrival-journal.ts';
import type { ListenerEvent } from '../../src/commands/webhooks/listener-output.ts';
import { decodeToken } from '../../src/watch/resume/token.ts';
import { randomFrom } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary.ts';

const eventOf = (seq: number, more: object = {}): ListenerEvent => ({
  ...{ v: 1, seq, type: 'delivery', ts: '2026-11-20T10:00:00.000Z', data: {}, id: `event-${seq}`, duplicate: false, body: '{}' },
  ...more,
});

async function machine(maxBytes?: number) {
  const data = await temporaryFolder();
  const clock = { now: () => Date.parse('2026-11-20T10:00:00.000Z'), sleep: async () => undefined };
  const context = { paths: { data }, clock, signal: new AbortController().signal, launcher: process };
  const open = (token?: string): Promise<ArrivalJournal> => {
    const point = token === undefined ? undefined : decodeToken(token);
    if (point !== undefined && point.stream !== 'received') throw new Error(point.stream);
    return ArrivalJournal.open(context as never, point, maxBytes);
  };
  return { open, files: () => readdirSync(path.join(data, 'positions')).filter((name) => name.endsWith('.journal')), data };
}

it('every event after a position is known, over any number of files, as long as the file of the position exists', async () => {
  const { open, files } = await machine(1_000);
  const random = randomFrom(5);
  let journal = await open();
  const tokens: string[] = [];
  for (let seq = 1; seq <= 60; seq += 1) {
    journal.record(eventOf(seq));
    tokens.push(journal.tokenAfter(seq));
    if (random() > 0.3) continue;
    journal.close(true);
    const position = Math.max(0, seq - 1 - Math.floor(random() * 4));
    journal = await open(tokens[position]);
    expect(journal.records.unprinted.map((event) => event.seq)).toEqual(
      Array.from({ length: seq - 1 - position }, (_, index) => position + 2 + index),
    );
  }
  journal.close(true);
  expect(files()).toHaveLength(2);
  await expect(open(tokens[0])).rejects.toMatchObject({ code: 'resume_token_expired', exit: 2 });
});

it('what was accepted and not answered is acknowledged once, also if another file was begun since', async () => {
  const { open } = await machine(400);
  const first = await open();
  first.recordWebhook('hook');
  first.record(eventOf(1));
  first.recordAnswer('event-1');
  first.record(eventOf(2));
  first.record(eventOf(3, { forwarded: { url: 'http://127.0.0.1/', status: 500, duration_ms: 1 } }));
  first.record(eventOf(4, { forwarded: { url: 'http://127.0.0.1/', status: 202, duration_ms: 1 } }));
  const token = first.tokenAfter(4);
  first.close(true);
  const journal = await open(token);
  expect([journal.records.webhookId, journal.records.unprinted, journal.records.seenIds]).toEqual([
    'hook',
    [],
    ['event-1', 'event-2', 'event-3', 'event-4'],
  ]);
  expect([1, 2, 3, 4, 4].map((seq) => journal.takeUnanswered(`event-${seq}`))).toEqual([undefined, 204, undefined, 202, undefined]);
  journal.close(true);
});

it('the part of a line that was being written is dropped, and a journal nobody knows is removed', async () => {
  const { open, files, data } = await machine();
  const first = await open();
  first.record(eventOf(1));
  const token = first.tokenAfter(1);
  first.close(true);
  const file = path.join(data, 'positions', files()[0] as string);
  appendFileSync(file, JSON.stringify(eventOf(2)).slice(0, 40));
  const second = await open(token);
  second.record(eventOf(2, { body: 'whole' }));
  second.close(true);
  const third = await open(token);
  expect(third.records.unprinted).toEqual([eventOf(2, { body: 'whole' })]);
  await expect(open(token)).rejects.toMatchObject({ code: 'stream_in_use' });
  third.close(false);
  expect(files()).toEqual([]);
});
