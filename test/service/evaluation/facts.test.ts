/** The facts by which rubrics judge a run, read from a run that a service has executed. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { RubricResult } from '../../../src/service/evaluation/evaluate.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock, within } from '../helpers/clock.ts';
import { fileHandles } from '../helpers/disk.ts';
import { type Behaviour, Gate } from '../helpers/runtime.ts';
import { type Api, startApi } from '../helpers/service.ts';

const hour = 60 * 60 * 1_000;

const serviceFor = (behaviour: Behaviour, clock = new ManualClock()): Promise<Api> =>
  startApi({ clock, behaviours: { behaves: behaviour }, rateLimit: { limit: 1_000_000, windowSeconds: 60 } });

async function startJudged(api: Api, descriptions: readonly string[]): Promise<string> {
  const agentId = await api.agent('behaves');
  const rubrics = descriptions.map((description, index) => ({ title: `Rubric ${index + 1}`, description }));
  await api.ok('replaceEvalRubrics', { params: { agentId }, body: { rubrics } });
  return (await api.ok('startRun', { body: { agent_id: agentId, message: 'begin' } })).run.id;
}

/** The results of the evaluation of a run; undefined until it has ended. */
async function results(api: Api, runId: string): Promise<RubricResult[] | undefined> {
  const { run } = await api.ok('getRun', { params: { run_id: runId } });
  const { eval_summaries } = await api.ok('getRunDetail', { params: { agentId: run.agent_id as string, runId } });
  const { status, results = [] } = eval_summaries as { status?: string; results?: RubricResult[] };
  return status === undefined || status === 'in_progress' ? undefined : results;
}

/** The results of the rubrics of the agent and of the platform, once they exist. */
async function verdicts(api: Api, runId: string): Promise<string[]> {
  for (;;) {
    const resultList = await results(api, runId);
    if (resultList !== undefined) return resultList.map(({ status, comment }) => (comment === null ? status : `${status}: ${comment}`));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function respond(api: Api, runId: string, body: { approved: boolean } | { answers: Record<string, string> }): Promise<void> {
  await api.until(runId, 'waiting');
  const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: runId } });
  await api.ok('respondToHumanRequest', { params: { run_id: runId, request_id: request?.id as string }, body });
}

it('are those of the latest turn', async () => {
  const clock = new ManualClock();
  const api = await serviceFor(async (host) => {
    if (host.userMessages.at(-1) === 'again') {
      clock.advance(30_000);
      await host.commit('second', null, [{ kind: 'text', id: 't', text: 'Second' }]);
      return { status: 'completed' };
    }
    if (host.answer('q') !== undefined) {
      clock.advance(hour);
      return { status: 'completed' };
    }
    await host.commit('first', null, [
      { kind: 'text', id: 't', text: 'First' },
      { kind: 'tool_call', id: 'c', name: 'exec' },
      { kind: 'tool_result', id: 'r', callId: 'c', error: 'exit 1' },
    ]);
    return { status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay?' } };
  }, clock);
  const runId = await startJudged(api, [
    'No message contains "First" and no message contains "again".',
    'The tool exec was never called.',
    'A person was not asked.',
    'The run took less than 1m and it took at least 30s.',
  ]);
  await respond(api, runId, { approved: false });
  expect(await verdicts(api, runId)).toEqual([
    'failed: no message contains "First": one is "First"',
    'failed: tool exec never called: it was called once',
    'failed: nobody was asked: "Pay?" denied',
    'failed: took at most 1m: it took 1h',
    'passed',
    'failed: 1 call failed: exec: exit 1',
    'passed',
    'failed: "Pay?" denied',
  ]);

  clock.advance(hour);
  await api.ok('postRunMessage', { params: { run_id: runId }, body: { message: 'again' } });
  expect(await verdicts(api, runId)).toEqual(Array(8).fill('passed'));
});

it('are a duration of zero if the clock was set back during the run', async () => {
  const clock = new ManualClock();
  const api = await serviceFor(async () => {
    clock.advance(-hour);
    return { status: 'completed' };
  }, clock);
  expect((await verdicts(api, await startJudged(api, ['The run took at least 1m.'])))[0]).toBe('failed: took at least 1m: it took 0ms');
});

it('include the files of the run and of the memory of its agent', async () => {
  const api = await serviceFor(async (host) => {
    await host.sandbox.write('small.txt', Buffer.from('The total is 3.'));
    await host.sandbox.write('limit.txt', Buffer.alloc(1024 * 1024, 'x'));
    await host.sandbox.write('large.txt', Buffer.alloc(1024 * 1024 + 1, 'x'));
    await mkdir(join(host.sandbox.directory, 'folder'));
    await host.commit('note', null, [], { path: 'notes.md', content: 'Acme', append: false });
    return { status: 'completed' };
  });
  const runId = await startJudged(api, [
    'The file small.txt contains "total is 3" and the memory file notes.md is "acme" and the file limit.txt starts with "xx".',
    'The file large.txt contains "x".',
    'The file folder contains "x".',
    'The file none.txt is empty.',
    'The memory file none.md exists.',
  ]);
  expect((await verdicts(api, runId)).slice(0, 5)).toEqual([
    'passed',
    'undecided: the file /workspace/large.txt is larger than 1 MiB',
    expect.stringMatching(/^undecided: .*folder/),
    'failed: file none.txt is empty: it does not exist',
    'failed: memory file none.md exists: it does not exist',
  ]);
});

it('are read again after a while if the disk fails', async () => {
  const clock = new ManualClock();
  const api = await serviceFor(async (host) => {
    await host.sandbox.write('small.txt', Buffer.from('The total is 3.'));
    return { status: 'completed' };
  }, clock);
  const failure = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
  const readSpy = vi.spyOn(await fileHandles(), 'read').mockRejectedValueOnce(failure);
  afterTest(async () => readSpy.mockRestore());
  const runId = await startJudged(api, ['The file small.txt contains "total".']);
  await within(60_000, clock, async () => (await results(api, runId)) !== undefined);
  expect([(await verdicts(api, runId))[0], readSpy.mock.calls.length > 1]).toEqual(['passed', true]);
});

it('distinguish an answered question from an approval, and a withdrawn request from both', async () => {
  const api = await serviceFor(async (host) => {
    if (host.answer('which') === undefined)
      return { status: 'waiting', step: 'which', request: { type: 'question', title: 'Which?', questions: [{ question: 'Which?' }] } };
    if (host.answer('pay') === undefined) return { status: 'waiting', step: 'pay', request: { type: 'approval', title: 'Pay?' } };
    return { status: 'completed' };
  });
  const runId = await startJudged(api, ['A person was asked "which".', 'A person must approve "?".', 'A person must deny "?".']);
  await respond(api, runId, { answers: { 'Which?': 'this' } });
  await api.until(runId, 'waiting');
  await api.ok('stopRun', { params: { run_id: runId } });
  expect((await verdicts(api, runId)).slice(0, 3)).toEqual([
    'passed',
    'failed: a person approved "?": "Which?" answered, "Pay?" not answered',
    'failed: a person denied "?": "Which?" answered, "Pay?" not answered',
  ]);
});

it('do not include a duration if the run was stopped before it started', async () => {
  const [startGate, finish] = [new Gate(), new Gate()];
  const api = await startApi({
    runConcurrency: 1,
    behaviours: {
      behaves: async () => {
        startGate.open();
        await finish.opened;
        return { status: 'completed' };
      },
    },
  });
  await api.ok('startRun', { body: { agent_id: await api.agent('behaves', 'Busy') } });
  await startGate.opened;
  const runId = await startJudged(api, ['The run took less than 1m.']);
  await api.ok('stopRun', { params: { run_id: runId } });
  expect((await verdicts(api, runId))[0]).toBe('undecided: the run never started');
  finish.open();
});
