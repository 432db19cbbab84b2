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
