/** A generation of an artifact as a stream of events, until it has ended. Its questions are events; it continues when somebody has answered. */
import type { Client } from '../client/client.ts';
import type { Artifact, ArtifactMessage, HumanRequest } from '../interface/types.ts';
import { type Enveloped, EventSequence, enveloped, type Positioned } from './envelope.ts';
import type { WaitingBody } from './events.ts';
import { type Call, pollEvents, type WatchOptions } from './polling.ts';
import type { ArtifactPoint } from './resume/points.ts';
import { encodeToken } from './resume/token.ts';

interface Payloads {
  'artifact.status': { status: string; previous: string | null };
  'artifact.message': { message: ArtifactMessage };
  'artifact.asking': { questions: HumanRequest };
  'artifact.answered': { tool_call_id: string };
  'rate_limit.waiting': WaitingBody['data'];
  'artifact.finished': { artifact: Artifact };
}

export type ArtifactEvent = Enveloped<Payloads, { artifact_id: string }, string>;

type Body = { [Type in keyof Payloads]: { type: Type; data: Payloads[Type] } }[keyof Payloads];

/** How far the events of an artifact were reported. */
export type ArtifactPosition = Pick<ArtifactPoint, 'status' | 'lastMessageId' | 'questionId' | 'isReported'>;

export interface ArtifactStart {
  /** The number of the last event before it. */
  seq: number;
  position: ArtifactPosition;
}

/**
 * The start of a generation.
 * @param since the message that started it: later messages are reported; without it, only new messages
 */
export const artifactStart = (since: string | undefined): ArtifactStart => ({
  seq: 0,
  position: { status: null, lastMessageId: since, questionId: undefined, isReported: false },
});

/** Messages to read at a time: a generation has few. */
const pageSize = 100;

/**
 * Yields events. Ends after `artifact.finished`.
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchArtifact(
  client: Client,
  artifactId: string,
  { seq, position }: ArtifactStart,
  options: WatchOptions,
): AsyncGenerator<ArtifactEvent, void, undefined> {
  const state = new State(position);
  const events = enveloped<ArtifactEvent, ArtifactPosition>(
    pollEvents(client, options, (call) => poll(call, artifactId, state)),
    {
      sequence: new EventSequence(options.clock, seq),
      subject: { artifact_id: artifactId },
      start: position,
      tokenOf: (current, number) => encodeToken({ ...current, stream: 'artifact', seq: number, artifactId }),
    },
  );
  for await (const event of events) {
    yield event;
    if (event.type === 'artifact.finished') return;
  }
}

class State {
  position: ArtifactPosition;
  /** Whether nothing was read yet, and messages that exist already are not wanted. */
  omitsMessages: boolean;

  constructor(position: ArtifactPosition) {
    this.position = position;
    this.omitsMessages = position.lastMessageId === undefined && position.status === null;
  }

  /** An event, and the position that follows from it. */
  after(change: Partial<ArtifactPosition>, body: Body): Positioned<Body, ArtifactPosition> {
    this.position = { ...this.position, ...change };
    return { ...body, position: this.position };
  }
}

async function* poll(call: Call, artifactId: string, state: State): AsyncGenerator<Positioned<Body, ArtifactPosition>, void, undefined> {
  // The artifact is read first: once it has ended, all of its messages can be read.
  const { artifact } = await call('getArtifact', { params: { artifactId } });
  const { status } = artifact;
  const messages = await readMessages(call, artifactId, state.position.lastMessageId);
  if (state.omitsMessages) state.position = { ...state.position, lastMessageId: messages.at(-1)?.id };
  state.omitsMessages = false;
  const newMessages = messages.slice(messages.findIndex(({ id }) => id === state.position.lastMessageId) + 1);
  const question = pendingQuestion(artifact, messages);
  const { questionId, status: previous } = state.position;
  if (questionId !== undefined && questionId !== question?.id)
    yield state.after({ questionId: undefined }, { type: 'artifact.answered', data: { tool_call_id: questionId } });
  if (status !== previous) yield state.after({ status, isReported: false }, { type: 'artifact.status', data: { status, previous } });
  for (const message of newMessages) yield state.after({ lastMessageId: message.id }, { type: 'artifact.message', data: { message } });
  if (question && question.id !== state.position.questionId)
    yield state.after({ questionId: question.id }, { type: 'artifact.asking', data: { questions: question } });
  if (!isWorking(artifact)) yield state.after({ isReported: true }, { type: 'artifact.finished', data: { artifact } });
}
/** The newest messages, oldest first: enough to include the one with this ID, if it exists. */
async function readMessages(call: Call, artifactId: string, lastId: string | undefined): Promise<ArtifactMessage[]> {
  const read = (before: string | undefined) =>
    call('listArtifactMessages', { params: { artifactId }, query: { limit: pageSize, ...(before !== undefined && { before }) } });
  const { data, has_more } = await read(undefined);
  let hasMore = has_more;
  const messages = [...data];
  while (hasMore && lastId !== undefined && messages.every(({ id }) => id !== lastId)) {
    const page = await read(messages[0]?.id);
    messages.unshift(...page.data);
    hasMore = page.has_more && page.data.length > 0;
  }
  return messages;
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
