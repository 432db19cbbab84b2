/** Hostile text in every string of the events that are watched: no sequence of it reaches the terminal. */
import type { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { OnRequest } from '../../src/cli/following/responder.ts';
import { presentError } from '../../src/cli/program/present.ts';
import type { Client } from '../../src/client/client.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { followArtifact } from '../../src/commands/artifacts/follow.ts';
import { followBuilderRun } from '../../src/commands/revisions/follow.ts';
import { announce, followRun, resultOf } from '../../src/commands/runs/follow.ts';
import type { HumanRequest, RunListItem, RunMessage } from '../../src/interface/types.ts';
import { artifactStart } from '../../src/watch/watch-artifact.ts';
import { type FakeTty, fastClock, watchingContext } from '../support/fake-tty.ts';
import { expectHarmless, expectNoFakeHint, hostileText } from '../support/hostile-text.ts';
import { fakeTerminal } from '../terminal/fake-streams.ts';

const id = hostileText;
const createdAt = '2026-07-18T09:00:00.000Z';

const option = { label: hostileText, description: hostileText };
const questions = [
  { question: hostileText, header: hostileText },
  { question: hostileText, options: [option, option] },
  { question: hostileText, options: [option, option], multi_select: true },
];
const ask = (type: HumanRequest['type'], questionList = questions): HumanRequest => ({
  id,
  type,
  title: hostileText,
  description: hostileText,
  created_at: createdAt,
  ...(type === 'question' ? { questions: questionList } : {}),
});

const message = (index: number, part: object): RunMessage =>
  ({ id: `${id}${index}`, type: 'text', role: 'assistant', timestamp: createdAt, text_content: null, ...part }) as unknown as RunMessage;
const call = (name: string, args: object) => ({ tool_call: { id: name, name: hostileText, arguments: args } });
const result = (name: string, part: object) => ({ tool_result: { tool_call_id: name, ...part } });
const messages = [
  { text_content: hostileText },
  { text_content: hostileText, role: 'user' },
  { text_content: hostileText, type: 'human_response', role: 'user' },
  call('a', { command: hostileText }),
  result('a', { result: { exit_code: 1, stdout: hostileText } }),
  call('b', { [hostileText]: hostileText }),
  result('b', { error: hostileText }),
  call('c', {}),
  result('c', { result: hostileText }),
  result('d', { result: { [hostileText]: hostileText } }),
  call('e', { url: hostileText }),
].map((part, index) => message(index, part));

/** A client whose operations answer in turn; the last answer is repeated. */
function clientOf(answers: Record<string, unknown[]>): Client {
  return {
    call: async (operation: string) => {
      const [next, ...laterAnswers] = answers[operation] ?? [];
      if (next === undefined) throw new Error(`No answer to ${operation} is prepared.`);
      if (laterAnswers.length > 0) answers[operation] = laterAnswers;
      return next;
    },
    keysFor: () => undefined,
    openEvents: async () => {
      throw new NoStreamError('unknown', { final: true });
    },
    onWaiting: () => () => undefined,
  } as unknown as Client;
}

/** What the list says about the run before it is watched. */
const listItem = { id, run_number: 7, agent_name: hostileText, title: hostileText } as unknown as RunListItem;

const kinds: { onRequest: OnRequest; tty: boolean; format: string }[] = [
  { onRequest: 'prompt', tty: true, format: 'table' },
  { onRequest: 'wait', tty: true, format: 'table' },
  { onRequest: 'fail', tty: true, format: 'table' },
  { onRequest: 'wait', tty: true, format: 'ndjson' },
  { onRequest: 'wait', tty: false, format: 'table' },
  { onRequest: 'fail', tty: false, format: 'table' },
];

/** The output of a command that watches, including the error that ends it. */
async function output(
  { tty, format }: { tty: boolean; format: string },
  client: Client,
  follow: (context: ReturnType<typeof watchingContext>) => Promise<unknown>,
): Promise<string> {
  const fake = fakeTerminal({ tty, columns: 80, env: { TERM: 'xterm-256color' } });
  const clock = fastClock(100);
  const context = { ...watchingContext(fake as unknown as FakeTty, clock, client, new AbortController().signal), format };
  const end = follow(context as typeof context & { format: 'table' });
  await end.catch((error: unknown) => presentError(fake.terminal, error, { json: false, debug: false }));
  await fake.terminal.flush();
  (fake.terminal.in.stream as PassThrough).destroy();
  const text = fake.stdout() + fake.stderr();
  expect(text).toContain('plain');
  return text;
}

describe.each(kinds)('watching with --on-request $onRequest, on a terminal: $tty, as $format', (kind) => {
  const { onRequest } = kind;
  const options = { onRequest, answers: undefined };

  it.each(['approval', 'question'] as const)('shows a run with a hostile %s as harmless text', async (type) => {
    const run = { id, run_number: null, error: hostileText, started_at: null, completed_at: null };
    const runPoll = (status: string, request: HumanRequest | null) => ({ run: { ...run, status }, pending_human_request: request });
    const client = clientOf({
      getRun: [
        runPoll('running', null),
        ...Array.from({ length: 6 }, () => runPoll('waiting', ask(type))),
        runPoll(hostileText, null),
        runPoll('failed', null),
      ],
      listRunMessages: [{ messages, total: messages.length, limit: 50, offset: 0 }],
    });
    expectHarmless(
      await output(kind, client, async (context) => {
        resultOf(context, await followRun(context, { id }, options));
      }),
    );
  });

  it('names the run that is watched in one line of harmless text', async () => {
    const text = await output(kind, clientOf({}), async (context) => {
      announce(context, { id, listItem });
      context.terminal.note('plain');
    });
    expectHarmless(text);
    expectNoFakeHint(text);
    if (kind.tty && kind.format === 'table') expect(text.match(/plain/g)?.length).toBeGreaterThan(2);
  });

  it('shows the status and the request of a run on one line each', async () => {
    const runPoll = (status: string, request: HumanRequest | null) => ({ run: { id, status }, pending_human_request: request });
    const client = clientOf({
      getRun: [runPoll(hostileText, null), runPoll('waiting', ask('approval')), runPoll('interrupted', null)],
      listRunMessages: [{ messages: [], total: 0, limit: 50, offset: 0 }],
    });
    const text = await output(kind, client, async (context) => resultOf(context, await followRun(context, { id }, options)));
    // A prompt shows the lines of a request.
    if (onRequest !== 'prompt') expectNoFakeHint(text);
  });

  it.each([0, 1, 2])('shows a generation with hostile question %i as harmless text', async (index) => {
    const artifact = (status: string) => ({ artifact: { id, status, title: hostileText, html_code_present: true } });
    const text = { id: 'm1', role: 'assistant', content: hostileText, created_at: createdAt, message: { type: 'text' } };
    const questionMessage = { ...text, id: 'm2', message: { type: 'question', toolCallId: id, questions: [questions[index]] } };
    const listAnswer = (...items: object[]) => ({ data: items });
    const client = clientOf({
      getArtifact: [...Array.from({ length: 8 }, () => artifact('running')), artifact('failed')],
      listArtifactMessages: [
        listAnswer(),
        listAnswer(text),
        ...Array.from({ length: 5 }, () => listAnswer(text, questionMessage)),
        listAnswer(text, questionMessage, { ...text, id: 'm3' }),
      ],
    });
    expectHarmless(await output(kind, client, (context) => followArtifact(context, id, artifactStart(undefined), options)));
  });

  it.each([0, 1, 2])('shows a builder run with hostile question %i as harmless text', async (index) => {
    const progress = (status: string) => ({ id, status, phase: hostileText });
    const pending = ask('question', [questions[index] as (typeof questions)[0]]);
    const run = { id, build_id: id, status: 'waiting_for_input', pending_user_questions: pending, error: hostileText };
    const client = clientOf({
      getBuilderRunStatus: [progress('running'), ...Array.from({ length: 5 }, () => progress('waiting_for_input')), progress('failed')],
      getLatestBuilderRun: [...Array.from({ length: 5 }, () => run), { ...run, status: 'failed', error_message: hostileText }],
    });
    const ids = { buildId: id, builderRunId: id };
    const text = await output(kind, client, (context) => followBuilderRun(context, ids, { ...options, verdict: undefined }));
    expectHarmless(text);
    // A prompt shows the lines of a question; a phase is one line.
    if (onRequest !== 'prompt') expectNoFakeHint(text);
  });
});
