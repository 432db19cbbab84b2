/** The timeline of a run: calls with their results, requests with their answers, in order, and with bounded memory. */
import { expect, it } from 'vitest';
import { type Entry, timelineEntries } from '../../../src/cli/run-record/timeline.ts';
import type { RecordedHumanRequest, RunMessage } from '../../../src/interface/types.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 6, 18, 9) + second * 1_000).toISOString();
let ids = 0;
const message = (second: number, fields: Partial<RunMessage>): RunMessage => ({
  id: String(++ids),
  type: 'message',
  role: 'assistant',
  timestamp: at(second),
  ...fields,
});
const text = (second: number, text_content: string): RunMessage => message(second, { text_content });
const call = (second: number, id: string): RunMessage =>
  message(second, { type: 'tool_call', tool_call: { id, name: `tool-${id}`, arguments: { id } } });
const result = (second: number, tool_call_id: string, fields: object = { result: { ok: true } }): RunMessage =>
  message(second, { type: 'tool_result', role: 'tool', tool_result: { tool_call_id, ...fields } });

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

async function entries(messages: Iterable<RunMessage>, requests?: RecordedHumanRequest[]): Promise<Entry[]> {
  const list: Entry[] = [];
  for await (const entry of timelineEntries(each(messages), requests)) list.push(entry);
  return list;
}

const names = (list: Entry[]): string[] =>
  list.map((entry) =>
    entry.kind === 'tool'
      ? `${entry.name} ${entry.status}`
      : entry.kind === 'request'
        ? `request ${entry.request.title}`
        : `${entry.kind} ${entry.text}`,
  );

it('combines calls with their results where the calls were made', async () => {
  const list = await entries([
    call(1, 'a'),
    text(2, 'meanwhile'),
    call(3, 'b'),
    result(4, 'b', { error: 'no' }),
    result(5, 'a'),
    call(6, 'c'),
  ]);
  expect(names(list)).toEqual(['tool-a done', 'message meanwhile', 'tool-b failed', 'tool-c unfinished']);
  expect(list[0]).toMatchObject({ at: at(1), ended_at: at(5), arguments: { id: 'a' }, result: { ok: true } });
  expect(list[2]).toMatchObject({ ended_at: at(4), error: 'no' });
  expect(list[3]).toMatchObject({ ended_at: null });
});

it('separates the diffs of a result, and leaves what is not a diff in it', async () => {
  const diff = { path: 'a', diff: '@@' };
  const results = [{ diffs: [diff] }, { diffs: [diff, { path: 1 }], text: 'x' }, { diffs: 'none' }];
  const list = await entries(
    results.flatMap((value, index) => [call(index, String(index)), result(index, String(index), { result: value })]),
  );
  expect(list.map((entry) => entry.kind === 'tool' && [entry.diffs, entry.result])).toEqual([
    [[diff], undefined],
    [[diff], { text: 'x', diffs: [{ path: 1 }] }],
    [[], { diffs: 'none' }],
  ]);
});

it('shows a request where it was made, with its answer, and no second time as a message', async () => {
  const request = (second: number, title: string, responded_at: string | null): RecordedHumanRequest => ({
    id: title,
    title,
    description: null,
    type: 'approval',
    created_at: at(second),
    status: responded_at === null ? 'pending' : 'answered',
    response: responded_at && 'approved',
    responded_at,
    responded_by: null,
  });
  const answer = (second: number): RunMessage => message(second, { type: 'human_response', role: 'user', text_content: 'Approved: A' });
  const messages = [text(1, 'before'), answer(5), text(6, 'after')];
  expect(names(await entries(messages, [request(2, 'A', at(5)), request(8, 'B', null)]))).toEqual([
    'message before',
    'request A',
    'message after',
    'request B',
  ]);
  // A service that does not list requests has the answers only as messages.
  expect(names(await entries(messages))).toEqual(['message before', 'answer Approved: A', 'message after']);
});

it('does not wait for a result forever, and names the call of a late one', async () => {
  let produced = 0;
  function* messages(): Generator<RunMessage> {
    yield call(0, 'slow');
    for (let index = 0; index < 2_000; index += 1) {
      produced += 1;
      yield text(index, String(index));
    }
    yield result(2_000, 'slow');
  }
  let maxHeld = 0;
  let received = 0;
  const last: Entry[] = [];
  for await (const entry of timelineEntries(each(messages()), undefined)) {
    received += 1;
    maxHeld = Math.max(maxHeld, produced - received);
    last.splice(0, last.length, entry);
  }
  expect(received).toBe(2_002);
  expect(maxHeld).toBeLessThanOrEqual(500);
  expect(last[0]).toMatchObject({ kind: 'tool', name: 'tool-slow', status: 'done', at: at(2_000) });
  expect(last[0]).not.toHaveProperty('arguments');
});

it('keeps another message of the moment in which a request was answered', async () => {
  const answered: RecordedHumanRequest = {
    ...{ id: 'h', title: 'A', description: null, type: 'approval', created_at: at(1), status: 'answered', response: 'approved' },
    ...{ responded_at: at(2), responded_by: null },
  };
  const answer = message(2, { type: 'human_response', role: 'user', text_content: 'Approved: A' });
  expect(names(await entries([answer, text(2, 'at once')], [answered]))).toEqual(['request A', 'message at once']);
});

it('shows who said what, and what kind of message has no text', async () => {
  const list = await entries([
    message(1, { role: 'user', text_content: 'a' }),
    message(2, { role: 'system' }),
    message(3, { type: 'thought', text_content: 'b' }),
    message(4, { type: 'notice', role: 'system' }),
    message(5, { type: 'plan' }),
  ]);
  expect(list.map((entry) => entry.kind !== 'tool' && entry.kind !== 'request' && [entry.kind, entry.by, entry.text])).toEqual([
    ['message', 'person', 'a'],
    ['message', 'system', '(message)'],
    ['thought', 'agent', 'b'],
    ['notice', 'system', '(notice)'],
    ['plan', 'agent', '(plan)'],
  ]);
});

it('leaves diffs that are not objects in the result', async () => {
  const list = await entries([call(1, 'a'), result(2, 'a', { result: { diffs: [null, 7] } })]);
  expect(list).toMatchObject([{ diffs: [], result: { diffs: [null, 7] } }]);
});

it('shows a second result of a call as an entry of its own', async () => {
  const list = await entries([call(1, 'a'), result(2, 'a'), result(3, 'a', { error: 'again' })]);
  expect(names(list)).toEqual(['tool-a done', 'tool failed']);
});

it('produces an entry as soon as the results of all calls before it have arrived', async () => {
  let read = 0;
  function* messages(): Generator<RunMessage> {
    for (const next of [call(1, 'a'), text(2, 'b'), result(3, 'a'), text(4, 'c'), text(5, 'd')]) {
      read += 1;
      yield next;
    }
  }
  const readBefore: number[] = [];
  for await (const _ of timelineEntries(each(messages()), undefined)) readBefore.push(read);
  expect(readBefore).toEqual([3, 3, 4, 5]);
});

it('gives up waiting for one call only, and not for those after it', async () => {
  const texts = (from: number, count: number) => Array.from({ length: count }, (_, index) => text(from + index, 'x'));
  const list = await entries([
    call(0, 'slow'),
    ...texts(1, 300),
    call(400, 'quick'),
    ...texts(401, 300),
    result(800, 'quick'),
    result(900, 'slow'),
  ]);
  expect(names(list).filter((name) => name.startsWith('tool'))).toEqual(['tool-slow unfinished', 'tool-quick done', 'tool-slow done']);
});

it('does not hold back results of more than 8 million characters for an earlier call', async () => {
  const large = { result: 'x'.repeat(8_000_000) };
  const list = await entries([call(1, 'slow'), call(2, 'large'), result(3, 'large', large), text(4, 'later'), result(5, 'slow')]);
  expect(names(list)).toEqual(['tool-slow unfinished', 'tool-large done', 'message later', 'tool-slow done']);
  const small = { result: 'x'.repeat(7_000_000) };
  const held = await entries([call(1, 'slow'), call(2, 'small'), result(3, 'small', small), text(4, 'later'), result(5, 'slow')]);
  expect(names(held)).toEqual(['tool-slow done', 'tool-small done', 'message later']);
});
