/** Builder runs: their questions and proposals, every transition and refusal, and that a restart loses nothing. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BuilderRun, BuilderRunStatus, HumanRequest } from '../../../src/interface/types.ts';
import type { Runtime } from '../../../src/service/runtimes/runtime.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import { Gate, testRuntime } from '../helpers/runtime.ts';
import { type Api, config, type TestOptions } from '../helpers/service.ts';

const service = covers('revisions');
const script = (options: TestOptions = {}): Promise<Api> => service({ runtimes: [scriptRuntime], ...options });
const failure = (answer: { status: number; body: unknown }) => [answer.status, (answer.body as { error?: string }).error];

const procedure = `version: 1
steps:
  # greets
  - say: Hello
  - approve: { id: pay, title: "Pay?", on_deny: continue }
  - approve: { id: book, title: "Book?" }
`;

interface Draft {
  agentId: string;
  buildId: string;
}

/** An agent with a live revision of the procedure. */
async function live(api: Api, text = procedure, model = 'script'): Promise<Draft> {
  const { agent, build } = await api.ok('createAgent', {
    body: { name: `A ${randomUUID()}`, build: { name: 'first', config: config(text, model) } },
  });
  return { agentId: agent.id, buildId: build?.id as string };
}

const at = ({ buildId }: Draft) => ({ params: { build_id: buildId } });

async function generate(api: Api, draft: Draft, prompt: string): Promise<string> {
  return (await api.ok('generateRevision', { ...at(draft), body: { prompt } })).generation.builder_run_id;
}

/** The latest builder run, once it has one of these statuses. */
async function until(api: Api, draft: Draft, ...statuses: BuilderRunStatus[]): Promise<BuilderRun> {
  for (;;) {
    const run = await api.ok('getLatestBuilderRun', at(draft));
    if (statuses.includes(run.status)) return run;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A builder run that proposes the requested change. */
async function propose(api: Api, draft: Draft, prompt = 'say "Bye" at the end'): Promise<BuilderRun> {
  await generate(api, draft, prompt);
  return until(api, draft, 'waiting_for_approve');
}

const inputOf = (value: unknown): string => (value as { data: { input: string } }).data.input;
const requestOf = (run: BuilderRun): HumanRequest => run.pending_user_questions as unknown as HumanRequest;
const revision = async (api: Api, { agentId, buildId }: Draft) =>
  (await api.ok('getRevision', { params: { agent_id: agentId, build_id: buildId } })).build;

/** A runtime whose builder is implemented by the test. */
const building = (builder: NonNullable<Runtime['builder']>): Runtime => ({
  ...testRuntime({ text: async () => ({ status: 'completed' }) }),
  name: 'built',
  builder,
});

describe('a builder run', () => {
  it('proposes a changed procedure, and changes nothing until it is accepted', async () => {
    const api = await script();
    const draft = await live(api);
    const generation = await api.ok('generateRevision', { ...at(draft), body: { prompt: 'say "Bye" at the end' } });
    expect(generation).toEqual({ generation: { status: 'generating', builder_run_id: expect.any(String), build_id: draft.buildId } });
    const run = await until(api, draft, 'waiting_for_approve');
    expect(run).toMatchObject({
      id: generation.generation.builder_run_id,
      build_id: draft.buildId,
      assignment_id: draft.agentId,
      prompt: 'say "Bye" at the end',
      mode: 'edit',
      phase: 'reviewing',
      error: null,
      resolution: null,
      checkpoint_config: null,
      pending_user_questions: null,
      schedule_suggested: false,
      setup_changes: [],
      changes: ['Added a step (say): Bye'],
      completed_at: null,
    });
    expect(inputOf(run.proposed_config)).toBe(`${procedure}  - say: Bye\n`);
    expect(inputOf(run.base_config)).toBe(procedure);
    expect(inputOf((await revision(api, draft)).config)).toBe(procedure);
    expect(await api.ok('getBuilderRunStatus', { params: { builder_run_id: run.id } })).toEqual({
      id: run.id,
      build_id: draft.buildId,
      status: 'waiting_for_approve',
      phase: 'reviewing',
      error: null,
      started_at: run.started_at,
      completed_at: null,
    });
  });

  it('changes the revision when it is accepted, and new runs of a live one follow it', async () => {
    const api = await script();
    const draft = await live(api, 'version: 1\nsteps:\n  - say: Hello\n');
    const run = await propose(api, draft, 'replace "Hello" with "Goodbye"');
    const guard = { builder_run_id: run.id, expected_started_at: run.started_at };
    const { builder_run: acceptedRun } = await api.ok('acceptRevision', { ...at(draft), body: guard });
    expect(acceptedRun).toMatchObject({
      id: run.id,
      status: 'completed',
      resolution: 'accepted',
      warnings: [],
      completed_at: expect.any(String),
    });
    expect(await revision(api, draft)).toMatchObject({ status: 'live', config: run.proposed_config });
    const startedRun = await api.ok('startRun', { body: { agent_id: draft.agentId } });
    await api.until(startedRun.run.id, 'completed');
    expect(await api.texts(startedRun.run.id)).toEqual(['Goodbye']);
    expect(failure(await api.call('acceptRevision', { ...at(draft), body: guard }))).toEqual([409, 'builder_run_not_waiting_for_approve']);
  });

  it('can be accepted on a draft, which is promoted separately', async () => {
    const api = await script();
    const draft = await live(api);
    const { build } = await api.ok('createRevision', { params: { agent_id: draft.agentId }, body: { name: 'second' } });
    const second = { ...draft, buildId: build.id };
    await propose(api, second);
    expect(failure(await api.call('promoteRevision', at(second)))).toEqual([409, 'builder_run_active']);
    await api.ok('acceptRevision', at(second));
    expect((await revision(api, second)).status).toBe('draft');
    expect(inputOf((await revision(api, draft)).config)).toBe(procedure);
    await api.ok('promoteRevision', at(second));
    expect((await revision(api, second)).status).toBe('live');
  });

  it('leaves the revision unchanged when it is declined', async () => {
    const api = await script();
    const draft = await live(api);
    const run = await propose(api, draft);
    const { builder_run: declinedRun } = await api.ok('declineRevision', { ...at(draft), body: { builder_run_id: run.id } });
    expect(declinedRun).toMatchObject({ status: 'cancelled', resolution: 'declined', warnings: null });
    expect(inputOf((await revision(api, draft)).config)).toBe(procedure);
    expect(failure(await api.call('declineRevision', at(draft)))).toEqual([409, 'builder_run_not_waiting_for_approve']);
    const refusal = await api.call('discardRevision', at(draft));
    expect(failure(refusal)).toEqual([409, 'builder_run_not_active']);
    expect(refusal.body).toMatchObject({ message: expect.stringContaining('(declined)') });
  });

  it('executes a procedure whose text is in several messages', async () => {
    const api = await script();
    const content = [
      { type: 'input_text' as const, text: 'steps:\n' },
      { type: 'input_file' as const, file_id: 'x' },
    ];
    const input = [
      { role: 'user' as const, content: 'version: 1' },
      { role: 'user' as const, content: [...content, { type: 'input_text' as const, text: '  - say: Hello' }] },
    ];
    const build = { name: 'first', config: { ...config('', 'script'), data: { ...config('', 'script').data, input } } };
    const { agent } = await api.ok('createAgent', { body: { name: 'Parts', build } });
    const { run } = await api.ok('startRun', { body: { agent_id: agent.id } });
    await api.until(run.id, 'completed');
    expect(await api.texts(run.id)).toEqual(['Hello']);
  });

  it('writes the first procedure of a revision without one', async () => {
    const api = await script();
    const { agent } = await api.ok('createAgent', { body: { name: 'Empty' } });
    const { build } = await api.ok('createRevision', { params: { agent_id: agent.id }, body: { name: 'first' } });
    expect(build.config).toBeNull();
    const draft = { agentId: agent.id, buildId: build.id };
    const run = await propose(api, draft, 'say "Hello". Then ask "Which vendor?" with options Acme, Bolt as vendor');
    expect(run).toMatchObject({ mode: 'create', base_config: null });
    expect(inputOf(run.proposed_config)).toBe(`version: 1
steps:
  - say: Hello
  - ask:
      id: vendor
      questions:
        - question: Which vendor?
          options:
            - { label: Acme }
            - { label: Bolt }
`);
    await api.ok('acceptRevision', at(draft));
    await api.ok('promoteRevision', at(draft));
  });

  it('fails with a reason, and describes what it understands', async () => {
    const api = await script();
    const draft = await live(api);
    await generate(api, draft, 'make it more delightful');
    const run = await until(api, draft, 'failed');
    expect(run.error).toMatch(/^Not understood: "make it more delightful"\. The builder of the script runtime understands:\n- say "TEXT"/);
    expect(run).toMatchObject({ proposed_config: null, completed_at: expect.any(String) });
    expect(failure(await api.call('acceptRevision', at(draft)))).toEqual([409, 'builder_run_not_waiting_for_approve']);
    expect(failure(await api.call('discardRevision', at(draft)))).toEqual([409, 'builder_run_not_active']);
    expect(await propose(api, draft)).toMatchObject({ status: 'waiting_for_approve' });
  });

  it('suggests schedules, and lists what has to be set up', async () => {
    const api = await script({ exec: 'off' });
    const draft = await live(api);
    const run = await propose(api, draft, 'run "sort < orders.csv" as sorted at the end. Run it every day at 9:00.');
    expect(run.schedule_suggested).toBe(true);
    expect(run.setup_changes.map(({ type, name, satisfied }) => [type, name, satisfied])).toEqual([
      ['exec', 'exec', false],
      ['file', 'orders.csv', false],
      ['schedule', 'every day at 09:00', false],
    ]);
    const { builder_run: acceptedRun } = await api.ok('acceptRevision', at(draft));
    expect(acceptedRun.warnings).toHaveLength(3);
    expect(acceptedRun.schedule_suggested).toBe(true);
  });

  it('treats whatever the service already provides as set up', async () => {
    const api = await script({ exec: 'host' });
    const draft = await live(api);
    const run = await propose(api, draft, 'run "date" at the end');
    expect(run.setup_changes).toMatchObject([{ type: 'exec', satisfied: true }]);
    expect((await api.ok('acceptRevision', at(draft))).builder_run.warnings).toEqual([]);
  });
});

describe('questions', () => {
  it('have the form of a human request, and the builder continues with the answers', async () => {
    const api = await script();
    const draft = await live(api);
    const id = await generate(api, draft, 'remove the approval');
    const run = await until(api, draft, 'waiting_for_input');
    expect(run).toMatchObject({ phase: 'asking', proposed_config: null });
    const request = requestOf(run);
    const question = 'Request 1, "remove the approval": 2 steps match. Which one do you mean?';
    expect(request).toMatchObject({ type: 'question', title: question, questions: [{ question, header: 'Request 1' }] });
    expect(request.questions?.[0]?.options?.map(({ label }) => label)).toEqual([
      'Step 2 (approve): Pay?',
      'Step 3 (approve): Book?',
      'Leave it out',
    ]);
    expect(failure(await api.call('acceptRevision', at(draft)))).toEqual([409, 'builder_run_not_waiting_for_approve']);

    const target = { params: { builder_run_id: id } };
    const answer = { [question]: 'Step 3 (approve): Book?' };
    expect(failure(await api.call('answerBuilderRun', { ...target, body: {} }))).toEqual([400, 'invalid_request']);
    expect(failure(await api.call('answerBuilderRun', { ...target, body: { answers: {} } }))).toEqual([400, 'invalid_answer']);
    expect(failure(await api.call('answerBuilderRun', { ...target, body: { answers: { [question]: 'Step 9' } } }))).toEqual([
      400,
      'invalid_answer',
    ]);
    const staleAnswer = await api.call('answerBuilderRun', { ...target, body: { answers: answer, request_id: randomUUID() } });
    expect(failure(staleAnswer)).toEqual([409, 'questions_already_answered']);

    const { builder_run: answeredRun } = await api.ok('answerBuilderRun', { ...target, body: { answers: answer, request_id: request.id } });
    expect(answeredRun).toMatchObject({ status: 'running', pending_user_questions: null, checkpoint_config: { answers: answer } });
    const finishedRun = await until(api, draft, 'waiting_for_approve');
    expect(finishedRun.changes).toEqual(['Removed Step 3 (approve): Book?']);
    expect(inputOf(finishedRun.proposed_config)).not.toContain('Book?');
    expect(failure(await api.call('answerBuilderRun', { ...target, body: { answers: answer } }))).toEqual([409, 'builder_run_not_waiting']);
  });

  it('can follow one another, and a part of the request can be skipped', async () => {
    const api = await script();
    const draft = await live(api);
    const id = await generate(api, draft, 'add an approval. Make it nice. Remove step 7.');
    const first = requestOf(await until(api, draft, 'waiting_for_input'));
    expect(first.title).toBe('The builder has 2 questions about the request');
    const [title, nice] = (first.questions ?? []).map(({ question }) => question) as [string, string];
    expect(nice).toMatch(/^Request 2, "Make it nice": this was not understood/);
    const answers = { [title]: 'Ship it?', [nice]: 'say "Nice" at the start' };
    await api.ok('answerBuilderRun', { params: { builder_run_id: id }, body: { answers } });
    const second = requestOf(await until(api, draft, 'waiting_for_input'));
    const [unknownQuestion] = second.questions ?? [];
    expect(unknownQuestion?.question).toBe('Request 3, "Remove step 7": there is no step 7. Which step do you mean?');
    await api.ok('answerBuilderRun', {
      params: { builder_run_id: id },
      body: { answers: { [unknownQuestion?.question as string]: 'Leave it out' } },
    });
    const finishedRun = await until(api, draft, 'waiting_for_approve');
    expect(finishedRun.changes).toEqual(['Added a step (approve): Ship it?', 'Added a step (say): Nice']);
    expect(finishedRun.checkpoint_config).toEqual({ answers: { ...answers, [unknownQuestion?.question as string]: 'Leave it out' } });
  });

  it('are withdrawn when the builder run is discarded', async () => {
    const api = await script();
    const draft = await live(api);
    const id = await generate(api, draft, 'remove the approval');
    await until(api, draft, 'waiting_for_input');
    const { builder_run: discardedRun } = await api.ok('discardRevision', at(draft));
    expect(discardedRun).toMatchObject({ id, status: 'cancelled', resolution: 'discarded', pending_user_questions: null });
    expect(failure(await api.call('answerBuilderRun', { params: { builder_run_id: id }, body: { answers: { x: 'y' } } }))).toEqual([
      409,
      'builder_run_not_waiting',
    ]);
  });
});

describe('a review', () => {
  it('is refused if another builder run has replaced the reviewed one', async () => {
    const api = await script();
    const draft = await live(api);
    const first = await propose(api, draft);
    await api.ok('discardRevision', at(draft));
    const second = await propose(api, draft, 'say "Other" at the end');
    for (const id of ['acceptRevision', 'declineRevision'] as const) {
      const refusal = await api.call(id, { ...at(draft), body: { builder_run_id: first.id, expected_started_at: first.started_at } });
      expect(failure(refusal)).toEqual([409, 'builder_run_changed']);
      expect(refusal.text).toContain('another builder run has taken its place');
      expect((refusal.body as unknown as { details: object[] }).details).toEqual([
        { path: 'builder_run_id', message: `is now ${second.id}, which was started for another request at ${second.created_at}` },
      ]);
    }
    expect((await until(api, draft, 'waiting_for_approve')).id).toBe(second.id);
  });

  it('is refused if the builder run was answered and has started over', async () => {
    const clock = new ManualClock();
    const api = await script({ clock });
    const draft = await live(api);
    const id = await generate(api, draft, 'remove the approval');
    const askingRun = await until(api, draft, 'waiting_for_input');
    const secondGeneration = await api.call('generateRevision', { ...at(draft), body: { prompt: 'remove step 1' } });
    expect(secondGeneration.text).toContain('Wait until it ends, or discard it first.');
    clock.advance(1_000);
    const [question] = requestOf(askingRun).questions ?? [];
    const answers = { [question?.question as string]: 'Step 2 (approve): Pay?' };
    await api.ok('answerBuilderRun', { params: { builder_run_id: id }, body: { answers } });
    const run = await until(api, draft, 'waiting_for_approve');
    expect(Date.parse(run.started_at as string) - Date.parse(askingRun.started_at as string)).toBe(1_000);
    for (const expected_started_at of [askingRun.started_at, null]) {
      const refusal = await api.call('acceptRevision', { ...at(draft), body: { builder_run_id: id, expected_started_at } });
      expect(failure(refusal)).toEqual([409, 'builder_run_changed']);
      expect(refusal.text).toContain('expected_started_at');
      expect(refusal.text).toContain('it was answered and has started over');
    }
    const sameInstant = new Date(run.started_at as string).toISOString().replace('Z', '+00:00');
    await api.ok('acceptRevision', { ...at(draft), body: { builder_run_id: id, expected_started_at: sameInstant } });
  });

  it('is not guarded unless it contains guards, which must be IDs and times', async () => {
    const api = await script();
    const draft = await live(api);
    await propose(api, draft);
    for (const body of [{ builder_run_id: 'latest' }, { expected_started_at: 'yesterday' }])
      expect(failure(await api.call('acceptRevision', { ...at(draft), body }))).toEqual([400, 'invalid_request']);
    await api.ok('acceptRevision', at(draft));
  });
});

describe('an active builder run', () => {
  it('blocks other changes of the procedure until it has ended', async () => {
    const api = await script();
    const draft = await live(api);
    const run = await propose(api, draft);
    const secondGeneration = await api.call('generateRevision', { ...at(draft), body: { prompt: 'remove step 1' } });
    expect(failure(secondGeneration)).toEqual([409, 'builder_run_active']);
    expect(secondGeneration.text).toContain(`${run.id} is waiting_for_approve. Accept, decline, or discard it first.`);
    expect(failure(await api.call('updateRevision', { ...at(draft), body: { config: config(procedure, 'script') } }))).toEqual([
      409,
      'builder_run_active',
    ]);
    await api.ok('updateRevision', { ...at(draft), body: { revision_name: 'Polite' } });
    await api.ok('discardRevision', at(draft));
    await api.ok('updateRevision', { ...at(draft), body: { config: config(procedure, 'script') } });
    expect((await propose(api, draft)).id).not.toBe(run.id);
  });

  it('does not keep others from being worked on once it was discarded, even if its builder never ends', async () => {
    const started: Gate[] = [];
    const runtime = building({
      async build({ prompt }) {
        started.shift()?.open();
        if (prompt === 'endless') await new Promise(() => undefined);
        return { status: 'proposed', procedure: 'text', changes: [], setupChanges: [], scheduleSuggested: false };
      },
    });
    const api = await service({ runtimes: [runtime] });
    // As many as are worked on at the same time.
    for (let discarded = 0; discarded < 2; discarded++) {
      const draft = await live(api, 'text', 'built');
      const gate = new Gate();
      started.push(gate);
      await generate(api, draft, 'endless');
      await gate.opened;
      await api.ok('discardRevision', at(draft));
    }
    const next = await live(api, 'text', 'built');
    await generate(api, next, 'short');
    expect(await until(api, next, 'waiting_for_approve')).toMatchObject({ prompt: 'short' });
  });

  it('is removed with its agent', async () => {
    const api = await script();
    const draft = await live(api);
    const run = await propose(api, draft);
    await api.ok('deleteAgent', { params: { agent_id: draft.agentId } });
    expect(failure(await api.call('getLatestBuilderRun', at(draft)))).toEqual([404, 'revision_not_found']);
    expect(failure(await api.call('getBuilderRunStatus', { params: { builder_run_id: run.id } }))).toEqual([404, 'builder_run_not_found']);
    expect(failure(await api.call('acceptRevision', at(draft)))).toEqual([404, 'revision_not_found']);
  });

  it('can be discarded while it works, which then has no effect', async () => {
    const gate = new Gate();
    const entryGate = new Gate();
    const runtime = building({
      async build(_request, enter) {
        await enter('thinking');
        entryGate.open();
        await gate.opened;
        await enter('editing');
        return { status: 'proposed', procedure: 'text', changes: [], setupChanges: [], scheduleSuggested: false };
      },
    });
    const api = await service({ runtimes: [runtime] });
    const draft = await live(api, 'text', 'built');
    const id = await generate(api, draft, 'anything');
    await entryGate.opened;
    expect(await api.ok('getBuilderRunStatus', { params: { builder_run_id: id } })).toMatchObject({ status: 'running', phase: 'thinking' });
    for (const review of ['acceptRevision', 'declineRevision'] as const)
      expect(failure(await api.call(review, at(draft)))).toEqual([409, 'builder_run_not_waiting_for_approve']);
    expect((await api.ok('discardRevision', at(draft))).builder_run.status).toBe('cancelled');
    gate.open();
    const next = await generate(api, draft, 'something else');
    await until(api, draft, 'waiting_for_approve');
    expect((await api.ok('getBuilderRunStatus', { params: { builder_run_id: id } })).status).toBe('cancelled');
    expect(next).not.toBe(id);
  });
});

describe('a restart', () => {
  it('keeps questions and proposals, and repeats the work that was in progress', async () => {
    const dataDirectory = await temporaryDirectory();
    const holdGate = new Gate();
    const entryGate = new Gate();
    const builder = (work: () => Promise<unknown>) =>
      building({
        async build({ prompt, answers }, enter) {
          await enter('thinking');
          if (prompt === 'slow') await work();
          if (prompt === 'ask' && answers['Which?'] === undefined) return { status: 'asking', questions: [{ question: 'Which?' }] };
          return {
            status: 'proposed',
            procedure: 'text',
            changes: [`${prompt} ${answers['Which?'] ?? ''}`],
            setupChanges: [],
            scheduleSuggested: false,
          };
        },
      });
    const before = builder(async () => {
      entryGate.open();
      await holdGate.opened;
    });
    const first = await service({ dataDirectory, runtimes: [before] });
    const [slowDraft, askingDraft, waitingDraft] = [
      await live(first, 'text', 'built'),
      await live(first, 'text', 'built'),
      await live(first, 'text', 'built'),
    ];
    await generate(first, slowDraft, 'slow');
    const askingId = await generate(first, askingDraft, 'ask');
    const proposal = await propose(first, waitingDraft, 'quick');
    const question = await until(first, askingDraft, 'waiting_for_input');
    await entryGate.opened;
    const slowStarted = (await first.ok('getLatestBuilderRun', at(slowDraft))).started_at;
    await first.service.close();
    holdGate.open();

    const second = await service({ dataDirectory, runtimes: [builder(async () => undefined)] });
    expect(await until(second, slowDraft, 'waiting_for_approve')).toMatchObject({ changes: ['slow '], started_at: slowStarted });
    expect(await second.ok('getLatestBuilderRun', at(waitingDraft))).toEqual(proposal);
    expect((await second.ok('getLatestBuilderRun', at(askingDraft))).pending_user_questions).toEqual(question.pending_user_questions);
    await second.ok('answerBuilderRun', { params: { builder_run_id: askingId }, body: { answers: { 'Which?': 'that' } } });
    expect(await until(second, askingDraft, 'waiting_for_approve')).toMatchObject({ changes: ['ask that'] });
    await second.ok('acceptRevision', at(waitingDraft));
  });

  it('fails a builder run whose runtime no longer exists', async () => {
    const dataDirectory = await temporaryDirectory();
    const entryGate = new Gate();
    const runtime = building({
      build() {
        entryGate.open();
        return new Gate().opened as Promise<never>;
      },
    });
    const first = await service({ dataDirectory, runtimes: [runtime] });
    const draft = await live(first, 'text', 'built');
    await generate(first, draft, 'anything');
    await entryGate.opened;
    await first.service.close();
    const second = await service({ dataDirectory });
    expect((await until(second, draft, 'failed')).error).toBe('The runtime "built" no longer has a builder in this service.');
  });

  it('is not needed when a builder crashes, because its builder run fails', async () => {
    const api = await service({ runtimes: [building({ build: () => Promise.reject(new Error('out of ideas')) })] });
    const draft = await live(api, 'text', 'built');
    await generate(api, draft, 'anything');
    expect((await until(api, draft, 'failed')).error).toBe('The builder failed: out of ideas');
  });
});

describe('a refusal', () => {
  it('names the missing object', async () => {
    const api = await script();
    const unknownDraft = { agentId: '', buildId: randomUUID() };
    expect(failure(await api.call('generateRevision', { ...at(unknownDraft), body: { prompt: 'say "x"' } }))).toEqual([
      404,
      'revision_not_found',
    ]);
    for (const id of ['getLatestBuilderRun', 'acceptRevision', 'declineRevision', 'discardRevision'] as const)
      expect(failure(await api.call(id, at(unknownDraft)))).toEqual([404, 'revision_not_found']);
    const draft = await live(api);
    for (const id of ['getLatestBuilderRun', 'acceptRevision', 'declineRevision', 'discardRevision'] as const)
      expect(failure(await api.call(id, at(draft)))).toEqual([404, 'builder_run_not_found']);
    const unknownRun = { params: { builder_run_id: randomUUID() } };
    expect(failure(await api.call('getBuilderRunStatus', unknownRun))).toEqual([404, 'builder_run_not_found']);
    expect(failure(await api.call('answerBuilderRun', { ...unknownRun, body: { answers: {} } }))).toEqual([404, 'builder_run_not_found']);
  });

  it('is the answer to an empty prompt', async () => {
    const api = await script();
    const draft = await live(api);
    for (const body of [{}, { prompt: '' }, { prompt: '  \n' }, { prompt: 7 }, { prompt: 'x'.repeat(20_001) }])
      expect(failure(await api.call('generateRevision', { ...at(draft), body }))).toEqual([400, 'invalid_request']);
  });

  it('explains that a runtime has no builder', async () => {
    const api = await service();
    const draft = await live(api, 'done', 'test');
    const refusal = await api.call('generateRevision', { ...at(draft), body: { prompt: 'say "x"' } });
    expect(failure(refusal)).toEqual([409, 'runtime_has_no_builder']);
  });

  it('is the answer to changes without full access, but not to reads with runs:read', async () => {
    const api = await script();
    const draft = await live(api);
    const run = await propose(api, draft);
    const { secret } = await api.ok('createLocalToken', { body: { name: 'reader', scopes: ['runs:read'] } });
    const headers = { authorization: `Bearer ${secret}` };
    expect((await api.call('getLatestBuilderRun', { ...at(draft), headers })).status).toBe(200);
    expect((await api.call('getBuilderRunStatus', { params: { builder_run_id: run.id }, headers })).status).toBe(200);
    for (const id of ['acceptRevision', 'declineRevision', 'discardRevision'] as const)
      expect((await api.call(id, { ...at(draft), headers })).status).toBe(403);
    expect((await api.call('acceptRevision', { ...at(draft), headers: { authorization: 'Bearer nobody' } })).status).toBe(401);
  });
});
