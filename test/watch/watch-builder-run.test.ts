import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { watchBuilderRun } from '../../src/watch/watch-builder-run.ts';
import { question } from './fake-run.ts';

/** A builder run with one status in its progress, and another one when it is read a moment later. */
function told(looks: readonly [status: string, whole: string][]): Client {
  let look = -1;
  const call = async (id: string): Promise<unknown> => {
    if (id === 'getBuilderRunStatus') look += 1;
    const [status, whole] = looks[look] as [string, string];
    if (id === 'getBuilderRunStatus') return { id: 'b1', status, phase: null };
    const asks = { ...question('q1'), type: 'question', questions: [{ question: 'Which?' }] };
    return { id: 'b1', status: whole, pending_user_questions: whole === 'waiting_for_input' ? asks : null };
  };
  return { call, onWaiting: () => () => undefined } as unknown as Client;
}

async function typesOf(client: Client): Promise<string[]> {
  const clock = { ...systemClock, sleep: async () => undefined };
  const types: string[] = [];
  for await (const { type, data } of watchBuilderRun(
    client,
    { buildId: 'r1', builderRunId: 'b1' },
    { clock, signal: new AbortController().signal },
  ))
    types.push(type === 'builder_run.status' ? `> ${data.status}` : type);
  return types;
}

it('uses the latest status when a builder run changes between two requests', async () => {
  const discarded = told([
    ['waiting_for_input', 'waiting_for_input'],
    ['waiting_for_input', 'cancelled'],
  ]);
  expect(await typesOf(discarded)).toEqual(['> waiting_for_input', 'builder_run.asking', '> cancelled', 'builder_run.finished']);
  const answered = told([
    ['waiting_for_input', 'waiting_for_input'],
    ['waiting_for_input', 'running'],
    ['completed', 'completed'],
  ]);
  expect(await typesOf(answered)).toEqual([
    '> waiting_for_input',
    'builder_run.asking',
    'builder_run.answered',
    '> running',
    '> completed',
    'builder_run.finished',
  ]);
});
