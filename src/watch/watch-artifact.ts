/** A generation of an artifact as a stream of events, until it has ended. Its questions are events; it continues when somebody has answered. */
import type { Client } from '../client/client.ts';
import type { Artifact, ArtifactMessage, HumanRequest } from '../interface/types.ts';
import { type Enveloped, EventSequence } from './envelope.ts';
import type { WaitingBody } from './events.ts';
import { type Call, pollEvents, type WatchOptions } from './polling.ts';

interface Payloads {
  'artifact.status': { status: string; previous: string | null };
  'artifact.message': { message: ArtifactMessage };
  'artifact.asking': { questions: HumanRequest };
  'artifact.answered': { tool_call_id: string };
  'rate_limit.waiting': WaitingBody['data'];
  'artifact.finished': { artifact: Artifact };
}

export type ArtifactEvent = Enveloped<Payloads, { artifact_id: string }, null>;

type Body = { [Type in keyof Payloads]: { type: Type; data: Payloads[Type] } }[keyof Payloads];

interface State {
  status: string | null;
  questionId: string | undefined;
  /** IDs of messages that were yielded, or are older than the generation. */
  seenIds: Set<string>;
  isFirst: boolean;
}

/** Messages to read at a time: a generation has few. */
const pageSize = 100;

/**
 * Yields events. Ends after `artifact.finished`.
 * @param since the message that started the generation: later messages are yielded; without it, only new messages
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchArtifact(
  client: Client,
  artifactId: string,
  since: string | undefined,
  options: WatchOptions,
): AsyncGenerator<ArtifactEvent, void, undefined> {
  const state: State = { status: null, questionId: undefined, seenIds: new Set(), isFirst: true };
  const sequence = new EventSequence(options.clock);
  for await (const body of pollEvents(client, options, (call) => poll(call, artifactId, since, state))) {
    yield sequence.next<ArtifactEvent>(body, { artifact_id: artifactId });
    if (body.type === 'artifact.finished') return;
  }
}

async function* poll(call: Call, artifactId: string, since: string | undefined, state: State): AsyncGenerator<Body, void, undefined> {
  const params = { artifactId };
  // The artifact is read first: once it has ended, all of its messages can be read.
  const { artifact } = await call('getArtifact', { params });
  const { data } = await call('listArtifactMessages', { params, query: { limit: pageSize } });
  if (state.isFirst) {
    const firstNew = since === undefined ? data.length : data.findIndex(({ id }) => id === since) + 1;
    for (const { id } of data.slice(0, firstNew)) state.seenIds.add(id);
    state.isFirst = false;
  }
  const question = pendingQuestion(artifact, data);
  if (state.questionId !== undefined && state.questionId !== question?.id) {
    yield { type: 'artifact.answered', data: { tool_call_id: state.questionId } };
    state.questionId = undefined;
  }
  if (artifact.status !== state.status) yield { type: 'artifact.status', data: { status: artifact.status, previous: state.status } };
  state.status = artifact.status;
  for (const message of data) {
    if (state.seenIds.has(message.id)) continue;
    state.seenIds.add(message.id);
    yield { type: 'artifact.message', data: { message } };
  }
  if (question && question.id !== state.questionId) {
    yield { type: 'artifact.asking', data: { questions: question } };
    state.questionId = question.id;
  }
  if (!isWorking(artifact)) yield { type: 'artifact.finished', data: { artifact } };
}

/** Whether a generation is in progress or about to start. */
const isWorking = ({ status }: Artifact): boolean => status === 'not_started' || status === 'pending' || status === 'running';

interface MessageBody {
  type?: unknown;
  toolCallId?: unknown;
  questions?: unknown;
}

/** The pending questions of a generation as a human request whose ID is the `toolCallId`; undefined when there are none. */
export function pendingQuestion(artifact: Artifact, messages: readonly ArtifactMessage[]): HumanRequest | undefined {
  const lastMessage = messages.at(-1);
  if (!isWorking(artifact) || lastMessage === undefined) return undefined;
  const { type, toolCallId, questions } = (lastMessage.message ?? {}) as MessageBody;
  if (type !== 'question' || typeof toolCallId !== 'string' || !Array.isArray(questions)) return undefined;
  return { id: toolCallId, type: 'question', title: lastMessage.content, description: null, created_at: lastMessage.created_at, questions };
}
