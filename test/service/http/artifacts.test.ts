/** Artifacts over HTTP: generating and changing them by message, questions, refreshes, restoring, publishing, and exports. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Artifact, ArtifactMessage, RefreshFrequency } from '../../../src/interface/types.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import type { Behaviour } from '../helpers/runtime.ts';
import type { Api, TestOptions } from '../helpers/service.ts';

const startApi = covers('artifacts');
const behaviours: Record<string, Behaviour> = {
  broken: async () => ({ status: 'failed', error: 'no' }),
  asking: async () => ({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay <b>now</b>?' } }),
};
const service = (options: TestOptions = {}): Promise<Api> => startApi({ behaviours, clock: new ManualClock(), ...options });

const minute = 60_000;
const start = Date.parse('2026-07-18T09:00:00.000Z');

async function untilSettled(api: Api, artifactId: string): Promise<Artifact> {
  for (;;) {
    const { artifact } = await api.ok('getArtifact', { params: { artifactId } });
    if (artifact.status !== 'pending' && artifact.status !== 'running') return artifact;
    // It has asked a question since it was read, so its current state is different.
    if ((await question(api, artifactId)) !== undefined) return (await api.ok('getArtifact', { params: { artifactId } })).artifact;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function messages(api: Api, artifactId: string): Promise<ArtifactMessage[]> {
  return (await api.ok('listArtifactMessages', { params: { artifactId } })).data;
}

interface QuestionMessage {
  type: string;
  toolCallId: string;
  questions: { question: string; options?: { label: string }[] }[];
}

/** The questions in the last message. */
async function question(api: Api, artifactId: string): Promise<QuestionMessage | undefined> {
  const last = (await messages(api, artifactId)).at(-1)?.message as QuestionMessage | undefined;
  return last?.type === 'question' ? last : undefined;
}

async function createArtifact(api: Api, message: string): Promise<Artifact> {
  const { artifact_id } = await api.ok('createArtifact', { body: { message } });
  return untilSettled(api, artifact_id);
}

async function sendMessage(api: Api, artifactId: string, message: string): Promise<Artifact> {
  await api.ok('sendArtifactMessage', { params: { artifactId }, body: { message } });
  return untilSettled(api, artifactId);
}

async function html(api: Api, artifactId: string): Promise<string> {
  const answer = await api.call('renderArtifact', { params: { artifactId } });
  expect([answer.status, Number(answer.headers['content-length'])]).toEqual([200, Buffer.byteLength(answer.text)]);
  return answer.text;
}

const refusalOf = async (api: Api, id: Parameters<Api['call']>[0], input: Parameters<Api['call']>[1]) => {
  const { status, body } = await api.call(id, input);
  return [status, (body as { error?: string }).error];
};

describe('an artifact', () => {
  it('is generated from a message and the data of the team', async () => {
    const api = await service();
    await api.until((await api.run('done')).id, 'completed');
    await api.until((await api.run('broken')).id, 'failed');
    await api.until((await api.run('asking')).id, 'waiting');
    const { artifact_id, user_message } = await api.ok('createArtifact', {
      body: { message: 'title Week; runs by status; open human requests; usage; how many runs failed' },
    });
    expect(user_message).toMatchObject({ artifact_id, role: 'user', content: expect.stringContaining('title Week'), revision_id: null });
    const artifact = await untilSettled(api, artifact_id);
    expect(artifact).toMatchObject({
      ...{ id: artifact_id, title: 'Week', status: 'completed', html_code_present: true, thumbnail_url: null },
      ...{ visibility: 'private', publish_permission: 'view', refresh_frequency: null, last_refresh_at: null },
    });
    const page = await html(api, artifact_id);
    expect(page).toContain('<title>Week</title>');
    for (const status of ['completed', 'failed', 'waiting'])
      expect(page).toMatch(new RegExp(`>${status}</span></span></th>.*<td class="amount">1</td>`));
    expect(page).toContain('Pay &lt;b&gt;now&lt;/b&gt;?');
    expect(page).not.toContain('<b>now');
    expect(page).toContain('3 of unlimited');
    expect(page).toContain('<p class="number">1</p>');
    const result = await messages(api, artifact_id);
    expect(result.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(result[1]).toMatchObject({
      author_user_id: null,
      content: expect.stringMatching(/^The title is "Week"\.\nAdded "Runs by status" as a bar chart\.\n/),
      revision_id: expect.any(String),
    });
  });

  it('can count over time, for one agent, and within a period', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const agentId = await api.agent('done', 'A & B');
    const runAt = async (time: number) => {
      clock.set(time);
      const { run } = await api.ok('startRun', { body: { agent_id: agentId } });
      await api.until(run.id, 'completed');
    };
    await runAt(start);
    await runAt(start + 26 * 60 * minute);
    await runAt(start + 27 * 60 * minute);
    await api.run('done');
    const { id } = await createArtifact(
      api,
      'line chart of runs of agent "a & b" of the last 3 days by day; runs by agent; number of runs of yesterday; agents; runs by hour of today',
    );
    const page = await html(api, id);
    expect(page).toContain('Runs of agent &quot;A &amp; B&quot; in the last 3 days by day');
    expect(page).toMatch(
      /<td>2026-07-17<\/td><td class="amount">0<\/td>.*<td>2026-07-18<\/td><td class="amount">1<\/td>.*<td>2026-07-19<\/td><td class="amount">2<\/td>/s,
    );
    expect(page).toMatch(/A &amp; B<\/span><\/th>.*<td class="amount">3<\/td>/);
    expect(page).toContain('<p class="number">1</p>');
    expect(page).toContain('<td>2026-07-19 11:00</td><td class="amount">1</td>');
  });

  it('shows the latest part of a time span that is too long for a table or chart, and reports what is left out', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const runAt = async (time: number) => {
      clock.set(time);
      await api.until((await api.run('done')).id, 'completed');
    };
    for (const hours of [0, 650, 719]) await runAt(start + hours * 60 * minute);
    const { id } = await createArtifact(api, 'table of runs by hour of the last 40 days; runs by hour of the last 40 days');
    const page = await html(api, id);
    const [countedSection = '', drawnSection = ''] = page.split('<section').slice(1);
    expect(countedSection).toContain(
      '<td data-label="Hour">2026-08-17 08:00</td><td class="amount" data-label="Number (3 in total)">1</td>',
    );
    expect(countedSection).toContain('<p class="note">1 before 2026-08-13 05:00</p>');
    expect(countedSection).not.toContain('2026-08-13 04:00');
    expect(drawnSection).toContain('<p class="note">3 in total, 1 of them before 2026-07-31 17:00</p>');
  });

  it('shows cases with the same status and priority as the list of cases', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const { queue } = await api.ok('createQueue', { body: { name: 'Invoices' } });
    const { queue: otherQueue } = await api.ok('createQueue', { body: { name: 'Refunds' } });
    const add = (queue_id: string, title: string, priority: 'none' | 'high') =>
      api.ok('createCases', { params: { queue_id }, body: { case: { title, data: 'x', priority } } });
    await add(queue.id, 'March <b>', 'high');
    await add(queue.id, 'April', 'none');
    await add(otherQueue.id, 'Refund', 'none');
    const { id } = await createArtifact(
      api,
      'cases of queue "invoices"; cases of queue invoices by priority; open cases by queue; cases of queue Refunds by status',
    );
    const page = await html(api, id);
    expect(page).toContain(
      '<td data-label="Case">March &lt;b&gt;</td><td data-label="Queue">Invoices</td><td data-label="Status"><span class="status going">pending</span></td><td data-label="Priority">high</td>',
    );
    expect(page).not.toContain('>Refund</td>');
    expect(page).toMatch(/>high<\/span><\/th>.*<td class="amount">1<\/td>/);
    expect(page).toMatch(/>Invoices<\/span><\/th>.*<td class="amount">2<\/td>/);
    const askingArtifact = await createArtifact(api, 'cases by status');
    expect((await question(api, askingArtifact.id))?.questions[0]?.options?.map(({ label }) => label)).toEqual([
      'All queues',
      'Invoices',
      'Refunds',
    ]);
  });

  it('is changed by messages: each page is a revision with a parent', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'runs by status');
    const first = (await api.ok('listArtifactRevisions', { params: { artifactId: id } })).current_revision_id as string;
    await sendMessage(api, id, 'add usage');
    await sendMessage(api, id, 'remove the runs chart; title "Only usage"');
    const list = await api.ok('listArtifactRevisions', { params: { artifactId: id } });
    expect(list.revisions.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(list).toMatchObject({ total: 3, current_version: 3, current_revision_id: list.revisions[0]?.id });
    expect(list.revisions[0]?.parent_revision_id).toBe(list.revisions[1]?.id);
    expect(list.revisions[2]).toMatchObject({ id: first, parent_revision_id: null, restored_from_version: null });
    expect(await html(api, id)).not.toContain('Runs by status');
    const old = await api.call('renderArtifactRevision', { params: { artifactId: id, revisionId: first } });
    expect(old.text).toContain('Runs by status');

    // From an earlier one: later changes are dropped, and its title is restored.
    await api.ok('sendArtifactMessage', { params: { artifactId: id }, body: { message: 'add agents', from_revision_id: first } });
    expect(await untilSettled(api, id)).toMatchObject({ title: 'Runs by status' });
    const page = await html(api, id);
    expect(page).toContain('Runs by status');
    expect(page).not.toContain('Usage');
    const { revisions } = await api.ok('listArtifactRevisions', { params: { artifactId: id } });
    expect(revisions[0]).toMatchObject({ version: 4, parent_revision_id: first });
  });

  it('is restored to an earlier revision, which becomes a new one', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'title One; runs');
    await sendMessage(api, id, 'title Two; remove 1; usage');
    const { revisions } = await api.ok('listArtifactRevisions', { params: { artifactId: id } });
    const params = { artifactId: id, revisionId: revisions[1]?.id as string };
    const restoration = await api.ok('restoreArtifactRevision', { params });
    expect(restoration).toMatchObject({ success: true, current_version: 3 });
    const after = await api.ok('listArtifactRevisions', { params: { artifactId: id } });
    expect(after.revisions[0]).toMatchObject({
      id: restoration.current_revision_id,
      restored_from_version: 1,
      parent_revision_id: revisions[0]?.id,
    });
    expect((await api.ok('getArtifact', { params: { artifactId: id } })).artifact.title).toBe('One');
    expect(await html(api, id)).toContain('Nothing to show.');
    // Restoring the current one does nothing.
    expect(await api.ok('restoreArtifactRevision', { params: { artifactId: id, revisionId: restoration.current_revision_id } })).toEqual(
      restoration,
    );
    expect(await refusalOf(api, 'restoreArtifactRevision', { params: { artifactId: id, revisionId: randomUUID() } })).toEqual([
      404,
      'revision_not_found',
    ]);
    // Later messages change the restored revision.
    await sendMessage(api, id, 'as a number');
    expect(await html(api, id)).toContain('<p class="number">0</p>');
  });

  it('whose message is not understood fails, says what would be understood, and keeps its page', async () => {
    const api = await service();
    const emptyArtifact = await createArtifact(api, 'make me a sandwich');
    expect(emptyArtifact).toMatchObject({ status: 'failed', html_code_present: false, title: null });
    expect((await messages(api, emptyArtifact.id)).at(-1)).toMatchObject({
      role: 'assistant',
      message: { type: 'error' },
      content: expect.stringMatching(/Not understood.*sandwich.*understands:\n- /s),
    });
    for (const id of ['renderArtifact', 'exportArtifactHtml', 'exportArtifactPdf'] as const) {
      expect(await refusalOf(api, id, { params: { artifactId: emptyArtifact.id } })).toEqual([404, 'artifact_not_generated']);
    }
    expect(await refusalOf(api, 'refreshArtifact', { params: { artifactId: emptyArtifact.id } })).toEqual([409, 'artifact_empty']);
    expect(await refusalOf(api, 'duplicateArtifact', { params: { artifactId: emptyArtifact.id } })).toEqual([409, 'artifact_empty']);
    const { id } = await createArtifact(api, 'runs');
    const before = await html(api, id);
    expect(await sendMessage(api, id, 'runs by colour')).toMatchObject({ status: 'failed', html_code_present: true });
    expect(await html(api, id)).toBe(before);
    expect(await sendMessage(api, id, 'usage')).toMatchObject({ status: 'completed' });
  });

  it('asks about whatever is unclear, and continues with the answer', async () => {
    const api = await service();
    const { id, status } = await createArtifact(api, 'chart of runs; chart of webhook deliveries');
    expect(status).toBe('running');
    const result = (await question(api, id)) as QuestionMessage;
    expect(result.questions).toMatchObject([{ question: expect.stringContaining('"chart of runs"'), options: expect.any(Array) }]);
    const first = result.questions[0]?.question as string;
    const answer = (toolCallId: string, answers: Record<string, unknown>) => ({
      params: { artifactId: id },
      body: { toolCallId, answers },
    });
    expect(await refusalOf(api, 'answerArtifactQuestion', answer(randomUUID(), { [first]: 'status' }))).toEqual([
      409,
      'question_not_pending',
    ]);
    for (const invalidAnswers of [{}, { [first]: 'colour' }, { [first]: 5 }, { other: 'status' }])
      expect(await refusalOf(api, 'answerArtifactQuestion', answer(result.toolCallId, invalidAnswers))).toEqual([400, 'invalid_answer']);
    expect(await refusalOf(api, 'sendArtifactMessage', { params: { artifactId: id }, body: { message: 'usage' } })).toEqual([
      409,
      'artifact_generating',
    ]);
    expect(await api.ok('answerArtifactQuestion', answer(result.toolCallId, { [first]: 'status' }) as never)).toEqual({ ok: true });
    await untilSettled(api, id);
    const next = (await question(api, id)) as QuestionMessage;
    expect(next.questions[0]?.question).toContain('webhook deliveries');
    expect(await refusalOf(api, 'answerArtifactQuestion', answer(result.toolCallId, { [first]: 'status' }))).toEqual([
      409,
      'question_not_pending',
    ]);
    await api.ok('answerArtifactQuestion', answer(next.toolCallId, { [next.questions[0]?.question as string]: 'event' }) as never);
    expect(await untilSettled(api, id)).toMatchObject({ status: 'completed', title: 'Runs by status' });
    expect(await html(api, id)).toContain('Webhook deliveries by event');
    expect((await messages(api, id)).map(({ role, message }) => `${role} ${(message as QuestionMessage | undefined)?.type ?? ''}`)).toEqual(
      [...['user ', 'assistant question', 'user answer', 'assistant question', 'user answer', 'assistant ']],
    );
    expect(await refusalOf(api, 'answerArtifactQuestion', answer(next.toolCallId, {}))).toEqual([409, 'question_not_pending']);
  });

  it('asks questions that can be answered, whatever characters they contain', async () => {
    const api = await service();
    const { id } = await createArtifact(api, `text "a${'😀'.repeat(40)}"; text "bb${'😀'.repeat(40)}"`);
    await sendMessage(api, id, 'remove the text');
    const result = (await question(api, id)) as QuestionMessage;
    const [{ question: text, options = [] }] = result.questions as [QuestionMessage['questions'][0]];
    expect(options).toHaveLength(2);
    for (const { label } of options) expect(Buffer.from(label).toString()).toBe(label);
    const answers = { [text]: options[1]?.label };
    await api.ok('answerArtifactQuestion', { params: { artifactId: id }, body: { toolCallId: result.toolCallId, answers } });
    expect(await untilSettled(api, id)).toMatchObject({ status: 'completed' });
    expect(await html(api, id)).not.toContain('bb😀');
  });

  it('can be stopped while it waits, and keeps its page', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'runs');
    const before = await html(api, id);
    await sendMessage(api, id, 'chart of runs');
    const result = (await question(api, id)) as QuestionMessage;
    const stop = (body?: { partial_text: string }) =>
      api.ok('stopArtifactMessage', { params: { artifactId: id }, ...(body && { body }) } as never);
    expect((await stop({ partial_text: 'As far as I got' })).artifact).toMatchObject({ status: 'interrupted', html_code_present: true });
    expect((await messages(api, id)).at(-1)).toMatchObject({ role: 'assistant', content: 'As far as I got' });
    expect(
      await refusalOf(api, 'answerArtifactQuestion', {
        params: { artifactId: id },
        body: { toolCallId: result.toolCallId, answers: {} },
      }),
    ).toEqual([...[409, 'question_not_pending']]);
    expect(await html(api, id)).toBe(before);
    // An idle one is left unchanged.
    expect((await stop()).artifact.status).toBe('interrupted');
    expect(await sendMessage(api, id, 'usage')).toMatchObject({ status: 'completed' });
    expect((await stop()).artifact.status).toBe('completed');
  });

  it('applies a message to the selected part', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'runs by status; usage');
    const selected_element = { selector: '#part-2', label: 'Plan usage', tag_name: 'section', outer_html: '<section id="part-2">' };
    const { user_message } = await api.ok('sendArtifactMessage', {
      params: { artifactId: id },
      body: { message: 'remove this', selected_element },
    });
    expect(user_message.selected_element).toEqual(selected_element);
    await untilSettled(api, id);
    expect(await html(api, id)).not.toContain('Usage');
  });

  it('continues its generation after a restart', async () => {
    const first = await service();
    const { id } = await createArtifact(first, 'chart of runs');
    const result = (await question(first, id)) as QuestionMessage;
    await first.service.close();
    const api = await service({ dataDirectory: first.dataDirectory });
    await api.ok('answerArtifactQuestion', {
      params: { artifactId: id },
      body: { toolCallId: result.toolCallId, answers: { [result.questions[0]?.question as string]: 'source' } },
    });
    expect(await untilSettled(api, id)).toMatchObject({ status: 'completed', title: 'Runs by source' });
  });
});

describe('the messages of an artifact', () => {
  it('are read from the last one backwards, page by page', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'runs');
    for (const message of ['usage', 'agents', 'remove 1']) await sendMessage(api, id, message);
    const allMessages = await messages(api, id);
    expect(allMessages).toHaveLength(8);
    const page = (before?: string) =>
      api.ok('listArtifactMessages', { params: { artifactId: id }, query: { limit: 3, ...(before === undefined ? {} : { before }) } });
    const last = await page();
    expect(last).toMatchObject({ total: 8, has_more: true });
    expect(last.data).toEqual(allMessages.slice(5));
    const middle = await page(last.data[0]?.id);
    expect(middle.data).toEqual(allMessages.slice(2, 5));
    const first = await page(middle.data[0]?.id);
    expect(first).toMatchObject({ data: allMessages.slice(0, 2), has_more: false });
    const get = (query: Record<string, string | number>) => refusalOf(api, 'listArtifactMessages', { params: { artifactId: id }, query });
    expect(await get({ before: randomUUID() })).toEqual([404, 'message_not_found']);
    expect(await get({ limit: 501 })).toEqual([400, 'invalid_request']);
    expect(await get({ before: 'x' })).toEqual([400, 'invalid_request']);
  });
});

describe('a refresh', () => {
  it('generates the same page from new data, as a new revision', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const { id } = await createArtifact(api, 'title Numbers; number of runs');
    expect(await html(api, id)).toContain('<p class="number">0</p>');
    await api.until((await api.run()).id, 'completed');
    clock.advance(minute);
    expect((await api.ok('refreshArtifact', { params: { artifactId: id } })).status).toBe('pending');
    expect(await untilSettled(api, id)).toMatchObject({
      status: 'completed',
      last_refresh_at: '2026-07-18T09:01:00.000Z',
      title: 'Numbers',
    });
    expect(await html(api, id)).toContain('<p class="number">1</p>');
    const { revisions } = await api.ok('listArtifactRevisions', { params: { artifactId: id } });
    expect(revisions[0]).toMatchObject({ version: 2, parent_revision_id: revisions[1]?.id });
    expect(await messages(api, id)).toHaveLength(2);
    const old = await api.call('renderArtifactRevision', { params: { artifactId: id, revisionId: revisions[1]?.id as string } });
    expect(old.text).toContain('<p class="number">0</p>');
  });

  it.each<[RefreshFrequency, number]>([
    ['every_15_minutes', 15],
    ['every_30_minutes', 30],
    ['hourly', 60],
    ['every_6_hours', 360],
    ['daily', 1_440],
    ['weekly', 10_080],
  ])('happens automatically: %s', async (refresh_frequency, minutes) => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const { id } = await createArtifact(api, 'number of runs');
    const plannedArtifact = await api.ok('updateArtifact', { params: { artifactId: id }, body: { refresh_frequency } });
    const timeAfter = (times: number, extraMinutes = 0) => new Date(start + (times * minutes + extraMinutes) * minute).toISOString();
    expect(plannedArtifact).toMatchObject({ refresh_frequency, next_refresh_at: timeAfter(1), last_refresh_at: null });
    const untilRefreshed = async (times: number, extraMinutes = 0): Promise<Artifact> => {
      for (;;) {
        const { artifact } = await api.ok('getArtifact', { params: { artifactId: id } });
        if (artifact.last_refresh_at === timeAfter(times, extraMinutes)) return artifact;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    clock.advance(minutes * minute);
    expect(await untilRefreshed(1)).toMatchObject({ next_refresh_at: timeAfter(2), status: 'completed' });
    // Three refreshes were missed: they are made up for once, and the next one is in step again.
    clock.advance((3 * minutes + 5) * minute);
    expect(await untilRefreshed(4, 5)).toMatchObject({ next_refresh_at: timeAfter(5) });
    expect((await api.ok('listArtifactRevisions', { params: { artifactId: id } })).total).toBe(3);
    const unscheduledArtifact = await api.ok('updateArtifact', { params: { artifactId: id }, body: { refresh_frequency: null } });
    expect(unscheduledArtifact).toMatchObject({ refresh_frequency: null, next_refresh_at: null });
    clock.advance(10 * minutes * minute);
    await sendMessage(api, id, 'usage');
    expect((await api.ok('listArtifactRevisions', { params: { artifactId: id } })).total).toBe(4);
  });

  it('is skipped while a question is pending or there is no page', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const { id } = await createArtifact(api, 'chart of runs');
    await api.ok('updateArtifact', { params: { artifactId: id }, body: { refresh_frequency: 'hourly' } });
    clock.advance(60 * minute);
    for (;;) {
      const { artifact } = await api.ok('getArtifact', { params: { artifactId: id } });
      if (artifact.next_refresh_at === '2026-07-18T11:00:00.000Z') break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await question(api, id)).toBeDefined();
    expect(await refusalOf(api, 'refreshArtifact', { params: { artifactId: id } })).toEqual([409, 'artifact_generating']);
  });
});

describe('access', () => {
  it('to a private artifact is limited to its creator and the owner; a published one can be seen or edited by the team', async () => {
    const owner = await service();
    const [ana, ben] = [await owner.withToken({ name: 'ana' }), await owner.withToken({ name: 'ben' })];
    const { id } = await createArtifact(ana, 'runs');
    const params = { artifactId: id };
    const readable = ['getArtifact', 'renderArtifact', 'listArtifactMessages', 'listArtifactRevisions', 'exportArtifactHtml'] as const;
    for (const operation of readable) expect(await refusalOf(ben, operation, { params })).toEqual([404, 'artifact_not_found']);
    expect(await ana.ok('getArtifact', { params })).toMatchObject({ is_creator: true, can_edit: true });
    expect(await owner.ok('getArtifact', { params })).toMatchObject({ is_creator: false, can_edit: true });

    expect(await ana.ok('publishArtifact', { params, body: { visibility: 'team' } })).toMatchObject({
      visibility: 'team',
      publish_permission: 'view',
    });
    for (const operation of readable) expect((await ben.call(operation, { params })).status).toBe(200);
    expect(await ben.ok('getArtifact', { params })).toMatchObject({ is_creator: false, can_edit: false });
    const [revision] = (await ben.ok('listArtifactRevisions', { params })).revisions;
    const edits: [Parameters<Api['call']>[0], object][] = [
      ['updateArtifact', { params, body: { title: 'mine' } }],
      ['sendArtifactMessage', { params, body: { message: 'usage' } }],
      ['refreshArtifact', { params }],
      ['stopArtifactMessage', { params }],
      ['answerArtifactQuestion', { params, body: { toolCallId: 'x', answers: {} } }],
      ['restoreArtifactRevision', { params: { ...params, revisionId: revision?.id } }],
    ];
    for (const [operation, input] of edits) expect(await refusalOf(ben, operation, input)).toEqual([403, 'artifact_not_editable']);

    await ana.ok('publishArtifact', { params, body: { visibility: 'organization', permission: 'edit' } });
    expect(await sendMessage(ben, id, 'usage')).toMatchObject({ status: 'completed' });
    expect((await messages(ben, id)).at(-2)?.author_user_id).not.toBe((await messages(ben, id))[0]?.author_user_id);
    for (const [operation, body] of [
      ['publishArtifact', { visibility: 'private' }],
      ['deleteArtifact', undefined],
    ] as const)
      expect(await refusalOf(ben, operation, { params, body })).toEqual([403, 'artifact_not_yours']);
    await ana.ok('publishArtifact', { params, body: { visibility: 'private' } });
    expect(await refusalOf(ben, 'getArtifact', { params })).toEqual([404, 'artifact_not_found']);
  });

  it('is shown in lists, which distinguish own artifacts', async () => {
    const owner = await service();
    const [ana, ben] = [await owner.withToken({ name: 'ana' }), await owner.withToken({ name: 'ben' })];
    await createArtifact(ana, 'title "Ana private"; runs');
    const sharedArtifact = await createArtifact(ana, 'title "Ana team"; runs');
    await ana.ok('publishArtifact', { params: { artifactId: sharedArtifact.id }, body: { visibility: 'team' } });
    await createArtifact(ben, 'title "Ben private"; runs');
    const titles = async (api: Api, scope?: 'created' | 'shared' | 'team') => {
      const { artifacts, total } = await api.ok('listArtifacts', { query: scope === undefined ? {} : { scope } });
      expect(total).toBe(artifacts.length);
      return artifacts.map(({ title }) => title).sort();
    };
    expect(await titles(ben)).toEqual(['Ana team', 'Ben private']);
    expect(await titles(ben, 'created')).toEqual(['Ben private']);
    expect(await titles(ben, 'shared')).toEqual(['Ana team']);
    expect(await titles(ana, 'shared')).toEqual([]);
    expect(await titles(ana, 'team')).toEqual(['Ana team']);
    expect(await titles(owner)).toEqual(['Ana private', 'Ana team', 'Ben private']);
    const page = await ana.ok('listArtifacts', { query: { limit: 1, offset: 1 } });
    expect(page).toMatchObject({ total: 2, limit: 1, offset: 1 });
    expect(page.artifacts).toHaveLength(1);
    expect(await refusalOf(ana, 'listArtifacts', { query: { scope: 'mine' } })).toEqual([400, 'invalid_request']);
  });

  it('to a copy is limited to whoever made it', async () => {
    const owner = await service();
    const [ana, ben] = [await owner.withToken({ name: 'ana' }), await owner.withToken({ name: 'ben' })];
    const { id } = await createArtifact(ana, `title ${'x'.repeat(120)}; runs by status`);
    await ana.ok('publishArtifact', { params: { artifactId: id }, body: { visibility: 'team' } });
    await ana.ok('updateArtifact', { params: { artifactId: id }, body: { refresh_frequency: 'daily' } });
    const copy = await ben.ok('duplicateArtifact', { params: { artifactId: id } });
    expect(copy).toMatchObject({
      visibility: 'private',
      status: 'completed',
      html_code_present: true,
      refresh_frequency: null,
      next_refresh_at: null,
    });
    expect(copy.title).toBe(`Copy of ${'x'.repeat(112)}`);
    expect(copy.created_by_user_id).not.toBe((await ben.ok('getArtifact', { params: { artifactId: id } })).artifact.created_by_user_id);
    expect(await messages(ben, copy.id)).toEqual([]);
    await sendMessage(ben, copy.id, 'remove 1; usage');
    expect(await html(ben, id)).toContain('Runs by status');
    expect(await html(ben, copy.id)).not.toContain('Runs by status');
  });

  it('is never given to another team', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'runs');
    await api.ok('publishArtifact', { params: { artifactId: id }, body: { visibility: 'organization', permission: 'edit' } });
    const otherApi = await api.inNewTeam();
    expect(await refusalOf(otherApi, 'getArtifact', { params: { artifactId: id } })).toEqual([404, 'artifact_not_found']);
    expect((await otherApi.ok('listArtifacts')).artifacts).toEqual([]);
    const otherArtifact = await createArtifact(otherApi, 'number of agents');
    expect(await html(otherApi, otherArtifact.id)).toContain('<p class="number">0</p>');
  });
});

describe('an artifact is', () => {
  it('renamed, along with its page, and keeps the name', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'runs');
    const renamedArtifact = await api.ok('updateArtifact', { params: { artifactId: id }, body: { title: 'A <b> title' } });
    expect(renamedArtifact.title).toBe('A <b> title');
    expect(await html(api, id)).toContain('<h1>A &lt;b&gt; title</h1>');
    expect((await sendMessage(api, id, 'usage')).title).toBe('A <b> title');
    for (const title of ['', 'x'.repeat(121)])
      expect(await refusalOf(api, 'updateArtifact', { params: { artifactId: id }, body: { title } })).toEqual([400, 'invalid_request']);
  });

  it('deleted with everything that belongs to it', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'chart of runs');
    await api.ok('updateArtifact', { params: { artifactId: id }, body: { refresh_frequency: 'hourly' } });
    expect(await api.ok('deleteArtifact', { params: { artifactId: id } })).toEqual({ success: true });
    expect(await refusalOf(api, 'getArtifact', { params: { artifactId: id } })).toEqual([404, 'artifact_not_found']);
    expect(await refusalOf(api, 'deleteArtifact', { params: { artifactId: id } })).toEqual([404, 'artifact_not_found']);
  });

  it('not changed by an invalid request', async () => {
    const api = await service();
    for (const message of ['', '   ', 'x'.repeat(10_001)])
      expect(await refusalOf(api, 'createArtifact', { body: { message } })).toEqual([400, 'invalid_request']);
    expect((await api.send('GET', '/v2/artifacts', { anonymous: true })).status).toBe(401);
    const { id } = await createArtifact(api, 'runs');
    const params = { artifactId: id };
    expect(await refusalOf(api, 'sendArtifactMessage', { params, body: { message: ' ' } })).toEqual([400, 'invalid_request']);
    expect(await refusalOf(api, 'sendArtifactMessage', { params, body: { message: 'usage', from_revision_id: randomUUID() } })).toEqual([
      ...[404, 'revision_not_found'],
    ]);
    expect(await refusalOf(api, 'renderArtifactRevision', { params: { ...params, revisionId: randomUUID() } })).toEqual([
      404,
      'revision_not_found',
    ]);
    expect(await refusalOf(api, 'publishArtifact', { params, body: { visibility: 'teams' } })).toEqual([400, 'invalid_request']);
    expect(await refusalOf(api, 'exportArtifactHtml', { params, query: { theme: 'blue' } })).toEqual([400, 'invalid_request']);
  });

  it('created once for an idempotency key', async () => {
    const api = await service();
    const headers = { 'idempotency-key': 'one' };
    const [first, second] = [
      await api.call('createArtifact', { body: { message: 'runs' }, headers }),
      await api.call('createArtifact', { body: { message: 'runs' }, headers }),
    ];
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect((await api.ok('listArtifacts')).total).toBe(1);
  });
});

describe('connections', () => {
  it('are attached and detached by whoever may edit', async () => {
    const clock = new ManualClock();
    const api = await service({ clock });
    const connect = (name: string) =>
      api.ok('createConnection', { body: { name, server_url: 'http://127.0.0.1:9/mcp', provider: 'user', auth_method: 'url' } });
    const [crm, erp] = [await connect('crm'), await connect('erp')];
    const { artifact_id: artifactId } = await api.ok('createArtifact', { body: { message: 'runs', connection_ids: [crm.id] } });
    await untilSettled(api, artifactId);
    const params = { artifactId };
    const listConnections = async () =>
      (await api.ok('listArtifactConnections', { params })).connections.map(({ connection_id }) => connection_id);
    expect(await listConnections()).toEqual([crm.id]);
    clock.advance(1);
    expect(await api.ok('attachArtifactConnection', { params, body: { connection_id: erp.id } })).toEqual({ success: true });
    expect(await api.ok('listArtifactConnections', { params })).toMatchObject({
      connections: [
        { connection_id: crm.id, type: 'custom_mcp', integration_id: null, custom_integration_id: null },
        { connection_id: erp.id },
      ],
    });
    const attach = (connection_id: string) => refusalOf(api, 'attachArtifactConnection', { params, body: { connection_id } });
    expect(await attach(erp.id)).toEqual([409, 'connection_attached']);
    expect(await attach(randomUUID())).toEqual([404, 'connection_not_found']);
    expect(await attach('x')).toEqual([400, 'invalid_request']);
    expect(await api.ok('detachArtifactConnection', { params: { ...params, connectionId: crm.id } })).toEqual({ success: true });
    expect(await refusalOf(api, 'detachArtifactConnection', { params: { ...params, connectionId: crm.id } })).toEqual([
      404,
      'connection_not_found',
    ]);
    await api.ok('deleteConnection', { params: { connection_id: erp.id } });
    expect(await listConnections()).toEqual([]);
    expect(await refusalOf(api, 'createArtifact', { body: { message: 'runs', connection_ids: [erp.id] } })).toEqual([
      400,
      'connection_not_found',
    ]);
    const connection_ids = Array.from({ length: 11 }, () => randomUUID());
    expect(await api.call('createArtifact', { body: { message: 'runs', connection_ids } })).toMatchObject({
      status: 400,
      body: { message: 'connection_ids must have at most 10 items.' },
    });
    expect((await api.ok('listArtifacts')).total).toBe(1);
    await api.ok('publishArtifact', { params, body: { visibility: 'team' } });
    const otherApi = await api.withToken();
    expect(await refusalOf(otherApi, 'attachArtifactConnection', { params, body: { connection_id: crm.id } })).toEqual([
      403,
      'artifact_not_editable',
    ]);
    expect(await refusalOf(otherApi, 'detachArtifactConnection', { params: { ...params, connectionId: crm.id } })).toEqual([
      403,
      'artifact_not_editable',
    ]);
    expect(await api.ok('deleteArtifact', { params })).toEqual({ success: true });
  });
});

describe('a page', () => {
  it('has no access to the origin of the service', async () => {
    const api = await service();
    const { id } = await createArtifact(api, 'title "../a\\"b: c"; runs');
    const page = await api.call('renderArtifact', { params: { artifactId: id } });
    const policy = page.headers['content-security-policy'];
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox$/,
    );
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline',
    });
    const plain = await api.call('exportArtifactHtml', { params: { artifactId: id } });
    expect(plain.text).toContain('data-theme="light"');
    const file = await api.call('exportArtifactHtml', { params: { artifactId: id }, query: { theme: 'dark' } });
    expect(file.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'content-security-policy': policy });
    expect(file.headers['content-disposition']).toMatch(/^attachment; filename="[^"/\\:]*\.html"/);
    expect(file.text).toContain('data-theme="dark"');
    const head = await api.send('HEAD', `/v2/artifacts/${id}/render`);
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it('cannot become a PDF without a browser, and the error says what to install', async () => {
    const api = await service({ commandPath: '/nonexistent', browsing: { policy: 'off', places: [] } });
    const { id } = await createArtifact(api, 'runs');
    const answer = await api.call('exportArtifactPdf', { params: { artifactId: id } });
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({
      error: 'pdf_unavailable',
      message: expect.stringMatching(/no Chromium is installed\. Install Chromium.*HTML export does not need one/s),
    });
  });
});
