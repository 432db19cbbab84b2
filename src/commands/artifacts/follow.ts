/** Following a generation: what it says is shown, what it asks is answered beside it. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { shellQuoted } from '../../base/shell.ts';
import { Asking } from '../../cli/following/asking.ts';
import { outageNotes } from '../../cli/following/outage.ts';
import { requestLine } from '../../cli/following/requests.ts';
import { type FollowOptions, followFlags, followOptions, type Requester, responderHere } from '../../cli/following/responder.ts';
import { newStreamSink, type Seen } from '../../cli/following/stream-sinks.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag } from '../../cli/kit/flags.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import type { CallOptions, Client } from '../../client/client.ts';
import type { Artifact, HumanRequest } from '../../interface/types.ts';
import { PromptCancelled } from '../../terminal/prompts.ts';
import type { Answer } from '../../watch/answers.ts';
import { Pace } from '../../watch/pace.ts';
import { type ArtifactEvent, watchArtifact } from '../../watch/watch-artifact.ts';

export const watchFlags = {
  watch: flag('Watch the generation to its end, and answer its questions', { aliases: ['follow'] }),
  ...followFlags,
} as const;

/** Undefined when it is not to be followed. Reads the flags before anything is started. @throws UsageError */
export async function watchOptions(
  context: Context,
  input: { watch: boolean; onRequest?: FollowOptions['onRequest'] | undefined; answers?: string | undefined },
): Promise<FollowOptions | undefined> {
  const follows = input.watch || input.answers !== undefined || input.onRequest !== undefined;
  return follows ? followOptions(context, input) : undefined;
}

/** What ends a followed generation otherwise than well. */
export const watchExits = [exitCodes.conflict, exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting] as const;

/**
 * Follows a generation to its end. Resolves to what is printed.
 * @param since the message that started it
 * @throws AopsError exit 12 when it asks and nobody may be asked, exit 10 and 11 when it failed or was stopped
 */
export async function followArtifact(
  context: Context,
  id: string,
  since: string | undefined,
  options: FollowOptions,
): Promise<Artifact | undefined> {
  const client = await context.client();
  const sink = await newStreamSink<ArtifactEvent>(context, seen);
  const stop = new AbortController();
  const pace = new Pace(context.clock);
  const asking = new Asking(responderHere(context, options), artifactRequester(client, id), { sink, stop, pace });
  const signal = AbortSignal.any([context.signal, stop.signal]);
  let said: string | undefined;
  try {
    const onOutage = outageNotes(context);
    for await (const event of watchArtifact(client, id, since, { clock: context.clock, signal, pace, onOutage, endures: asking.busy })) {
      if (event.type === 'artifact.message' && event.data.message.role === 'assistant') said = event.data.message.content;
      if (event.type === 'artifact.asking') asking.pending(event.data.questions);
      if (event.type === 'artifact.answered') await asking.resolved(true);
      await sink.event(event);
      if (event.type === 'artifact.finished') return ended(context, event.data.artifact, said);
    }
    throw new Error('the stream of events ended before the generation');
  } catch (error) {
    if (error === context.signal.reason || error instanceof PromptCancelled)
      context.terminal.note(
        asking.open
          ? `Detached. The generation waits for an answer; give it with: aops artifacts respond ${id}`
          : `Detached; the generation goes on. See what became of it with: aops artifacts get ${id}`,
      );
    throw error;
  } finally {
    await asking.end();
    sink.close();
  }
}

/** Failures are told as errors, and questions are asked. */
function seen(event: ArtifactEvent): Seen | undefined {
  if (event.type === 'artifact.status') return { phase: event.data.status, passing: true };
  if (event.type !== 'artifact.message') return undefined;
  const { role, content, message } = event.data.message;
  const type = (message as { type?: unknown } | null | undefined)?.type;
  return role === 'assistant' && type !== 'question' && type !== 'error' ? { said: content } : undefined;
}

function ended(context: Context, artifact: Artifact, said: string | undefined): Artifact | undefined {
  const prints = context.format !== 'ndjson';
  if (artifact.status === 'completed') return prints ? artifact : undefined;
  const failed = artifact.status === 'failed';
  const kept = artifact.html_code_present ? ' Its page stays as it was.' : '';
  const error = new AopsError(failed ? `The generation failed: ${said ?? 'it does not say why'}` : `The generation was stopped.${kept}`, {
    code: failed ? 'artifact_failed' : 'artifact_interrupted',
    exit: failed ? exitCodes.runFailed : exitCodes.runInterrupted,
    hint: `Ask in other words: aops artifacts send ${artifact.id} 'MESSAGE'`,
  });
  // What people are shown of a failure is the failure.
  throw prints && !forPeople(context) ? new ResultError(error, artifact) : error;
}

/** A generation as the one whose questions are answered. */
const artifactRequester = (client: Client, id: string): Requester => ({
  sender: (request, answer) => {
    const keys = client.keysFor('answerArtifactQuestion', answerInput(id, request, answer));
    return () => sendAnswer(client, id, request, answer, { keys });
  },
  waiting: (request) => waitingForAnswer(id, request),
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

/** What `answerArtifactQuestion` is called with. */
const answerInput = (id: string, request: HumanRequest, answer: Answer) => ({
  params: { artifactId: id },
  body: { toolCallId: request.id, answers: 'answers' in answer ? answer.answers : {} },
});

/** The error for a generation that asks where nobody may be asked: exit 12. */
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
