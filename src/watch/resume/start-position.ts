/** Where to begin in the messages of a run: its last messages, or those since a time. Each message before that is not read. */
import type { Client } from '../../client/client.ts';
import { type RunPosition, runStart } from './run-position.ts';

/** Reads single messages of a run by their offset. */
class Messages {
  readonly #client: Pick<Client, 'call'>;
  readonly #runId: string;

  constructor(client: Pick<Client, 'call'>, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  at = (offset: number) => this.#client.call('listRunMessages', { params: { run_id: this.#runId }, query: { limit: 1, offset } });

  /** The position before the message with this offset. */
  async positionBefore(offset: number): Promise<RunPosition> {
    if (offset === 0) return runStart;
    const [previous] = (await this.at(offset - 1)).messages;
    return previous === undefined ? runStart : { ...runStart, offset, lastMessageId: previous.id };
  }
}

export interface Window {
  /** Only this many messages. */
  tail?: number | undefined;
  /** Only messages from this time on, in milliseconds since the epoch. */
  since?: number | undefined;
}

/**
 * The position from which the messages of a run are inside a window. Messages are expected in the order of their times: the first one
 * that is new enough is found by bisection, and everything after it is inside.
 * @throws whatever the client throws
 */
export async function positionOf(client: Pick<Client, 'call'>, runId: string, { tail, since }: Window): Promise<RunPosition> {
  if (tail === undefined && since === undefined) return runStart;
  const messages = new Messages(client, runId);
  const { total } = await messages.at(0);
  let first = tail === undefined ? 0 : Math.max(0, total - tail);
  if (since !== undefined) {
    for (let end = total; first < end; ) {
      const middle = Math.floor((first + end) / 2);
      const [message] = (await messages.at(middle)).messages;
      if (message !== undefined && Date.parse(message.timestamp) < since) first = middle + 1;
      else end = middle;
    }
  }
  return messages.positionBefore(first);
}

/**
 * Whether nothing has happened in a run since its end was reported.
 * @param status the current status
 */
export async function isStillFinished(
  client: Pick<Client, 'call'>,
  runId: string,
  position: RunPosition,
  status: string,
): Promise<boolean> {
  if (!position.isFinished || position.status !== status) return false;
  return (await new Messages(client, runId).at(position.offset)).total <= position.offset;
}
