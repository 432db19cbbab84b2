/** Watching a generation: its messages are printed, and its questions are answered next to them. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { shellQuoted } from '../../base/shell.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { RequestAnswerer } from '../../cli/following/request-answerer.ts';
import { requestLine } from '../../cli/following/requests.ts';
import {
  type FollowInput,
  type FollowOptions,
  followFlags,
  followOptions,
  type Requester,
  responderHere,
} from '../../cli/following/responder.ts';
import type { Resumption } from '../../cli/following/resumption.ts';
import { type EventView, newStreamSink } from '../../cli/following/stream-sinks.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag } from '../../cli/kit/flags.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import type { CallOptions, Client } from '../../client/client.ts';
import type { Artifact, HumanRequest } from '../../interface/types.ts';
import { PromptCancelled } from '../../terminal/prompts.ts';
import type { Answer } from '../../watch/answers.ts';
import { Pace } from '../../watch/pace.ts';
import { type ArtifactEvent, type ArtifactStart, pendingQuestion, watchArtifact } from '../../watch/watch-artifact.ts';

export const watchFlags = {
  watch: flag('Watch the generation to its end, and answer its questions', { aliases: ['follow'] }),
  ...followFlags,
} as const;

/** Undefined when the generation is not watched. Reads the flags before anything is started. @throws UsageError */
export async function watchOptions(context: Context, input: FollowInput & { watch: boolean }): Promise<FollowOptions | undefined> {
  const follows = input.watch || input.answers !== undefined || input.onRequest !== undefined;
  return follows ? followOptions(context, input, 'artifact_id') : undefined;
}

/** The exit codes of a watched generation that does not complete. */
export const watchExits = [exitCodes.conflict, exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting] as const;

/**
 * Watches a generation to its end. Resolves to the result to print.
 * @param start where to begin
 * @param resumption where positions are remembered
 * @throws AopsError exit 12 when it asks a question that cannot be answered here, exit 10 or 11 when it failed or was stopped
 */
export async function followArtifact(
  context: Context,
  id: string,
  start: ArtifactStart,
  options: FollowOptions,
  resumption: Omit<Resumption<unknown>, 'point'> = {},
): Promise<Artifact | undefined> {
  const client = await context.client();
  // What was reported before, and is still true, is not reported again, but still needs an answer or ends the command.
  const reported =
    start.seq > 0 ? await readBeforeWatching(context, async (reading) => reportedState(await reading.client(), id, start)) : {};
  const sink = await newStreamSink<ArtifactEvent>(context, eventView, resumption);
  const stop = new AbortController();
  const pace = new Pace(context.clock);
  const answerer = new RequestAnswerer(responderHere(context, options), artifactRequester(client, id), {
    sink,
    streamController: stop,
    pace,
  });
  const signal = AbortSignal.any([context.signal, stop.signal]);
  let { lastReply } = reported;
  try {
    if (reported.end) return resultOf(context, reported.end, reported.lastReply);
    if (reported.question) answerer.startAnswer(reported.question);
    const onOutage = outageNotes(context);
    const watchOptions = { clock: context.clock, signal, pace, onOutage, waitsIndefinitely: answerer.isBusy };
    for await (const event of watchArtifact(client, id, start, watchOptions)) {
      if (event.type === 'artifact.message' && event.data.message.role === 'assistant') lastReply = event.data.message.content;
      if (event.type === 'artifact.asking') answerer.startAnswer(event.data.questions);
      if (event.type === 'artifact.answered') await answerer.endAnswer(true);
      await sink.event(event);
      if (event.type === 'artifact.finished') return resultOf(context, event.data.artifact, lastReply);
    }
    throw new Error('the stream of events ended before the generation');
  } catch (error) {
    if (error === context.signal.reason || error instanceof PromptCancelled)
      context.terminal.advise(
        answerer.isOpen
          ? `Detached. The generation is waiting for an answer. Answer with: aops artifacts respond ${id}`
          : `Detached. The generation continues. Check on it with: aops artifacts get ${id}`,
      );
    throw error;
  } finally {
    await answerer.end();
    sink.close();
  }
}

interface ReportedState {
  /** The question that was reported as pending and still is. */
  question?: HumanRequest;
  /** The artifact, if the end of its generation was reported and nothing has happened since. */
  end?: Artifact;
  lastReply?: string | undefined;
}

async function reportedState(client: Client, id: string, { position }: ArtifactStart): Promise<ReportedState> {
  const params = { artifactId: id };
  const { artifact } = await client.call('getArtifact', { params });
  const { data } = await client.call('listArtifactMessages', { params, query: { limit: 100 } });
  const lastReply = data.findLast(({ role }) => role === 'assistant')?.content;
  const hasNews = data.at(-1)?.id !== position.lastMessageId;
  if (position.isReported && artifact.status === position.status && !hasNews) return { end: artifact, lastReply };
  const question = pendingQuestion(artifact, data);
  return { lastReply, ...(question !== undefined && question.id === position.questionId && { question }) };
}

/** Failures are left out because they are reported as errors, and questions because they are asked. */
function eventView(event: ArtifactEvent): EventView | undefined {
  if (event.type === 'artifact.status') return { phase: event.data.status, transient: true };
  if (event.type !== 'artifact.message') return undefined;
  const { role, content, message } = event.data.message;
  const type = (message as { type?: unknown } | null | undefined)?.type;
  return role === 'assistant' && type !== 'question' && type !== 'error' ? { text: content } : undefined;
}

function resultOf(context: Context, artifact: Artifact, lastReply: string | undefined): Artifact | undefined {
  const prints = context.format !== 'ndjson';
  if (artifact.status === 'completed') return prints ? artifact : undefined;
  const failed = artifact.status === 'failed';
  const pageNote = artifact.html_code_present ? ' Its page is unchanged.' : '';
  const error = new AopsError(
    failed ? `The generation failed: ${lastReply ?? 'no reason was given'}` : `The generation was stopped.${pageNote}`,
    {
      code: failed ? 'artifact_failed' : 'artifact_interrupted',
      exit: failed ? exitCodes.runFailed : exitCodes.runInterrupted,
      hint: `Rephrase the request: aops artifacts send ${artifact.id} 'MESSAGE'`,
    },
  );
  // People see only the error.
  throw prints && !forPeople(context) ? new ResultError(error, artifact) : error;
}

/** Sends the answers to the questions of a generation. */
const artifactRequester = (client: Client, id: string): Requester => ({
  sender: (request, answer) => {
    const keys = client.keysFor('answerArtifactQuestion', answerInput(id, request, answer));
    return () => sendAnswer(client, id, request, answer, { keys });
  },
  waitingError: (request) => waitingForAnswer(id, request),
});

export async function sendAnswer(
  client: Client,
  id: string,
  request: HumanRequest,
  answer: Answer,
  options: CallOptions = {},
): Promise<void> {
  await client.call('answerArtifactQuestion', answerInput(id, request, answer), options);
}

/** The input of `answerArtifactQuestion`. */
const answerInput = (id: string, request: HumanRequest, answer: Answer) => ({
  params: { artifactId: id },
  body: { toolCallId: request.id, answers: 'answers' in answer ? answer.answers : {} },
});

/** The error for a question that cannot be answered here: exit 12. */
export function waitingForAnswer(id: string, request: HumanRequest): AopsError {
  const flags = (request.questions ?? []).map(
    ({ question, options }) => `--answer ${shellQuoted(`${question}=${options?.[0]?.label ?? 'ANSWER'}`)}`,
  );
  return new AopsError(`The generation asks: ${requestLine(request)}`, {
    code: 'artifact_waiting_for_answer',
    exit: exitCodes.runWaiting,
    hint: `Answer with \`aops artifacts respond ${id} ${flags.join(' ')}\`.`,
  });
}
