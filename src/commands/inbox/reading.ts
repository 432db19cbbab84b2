/** Which events of the inbox `--watch --resume` prints, and the tokens with which it continues. */
import { crypto } from '../../base/crypto.ts';
import type { RequestFilter } from '../../cli/following/pending-requests.ts';
import { closePositions, openResumption, savePosition } from '../../cli/following/resumption.ts';
import { StreamTokens } from '../../cli/following/stream-tokens.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { InboxPoint } from '../../watch/resume/points.ts';
import { foreignToken, pointOf } from '../../watch/resume/token.ts';
import type { InboxEvent, KnownRequests } from './events.ts';

/** A request that is no longer pending, in the change of a position. */
const resolved = { runId: '', title: '', remindedAt: undefined };

export interface InboxReading {
  /** Where to begin; undefined to begin with everything that is pending. */
  start: { seq: number; pending: KnownRequests } | undefined;
  tokenAfter: (requestId: string, pending: KnownRequests, seq: number) => string;
  /** Call this after each event that was printed. */
  onPrinted: (event: InboxEvent) => Promise<void>;
  close: () => void;
}

/** @throws UsageError for a token that is invalid, or belongs to another team or other filters */
export async function openInboxReading(context: Context, resume: string | undefined, filter: RequestFilter): Promise<InboxReading> {
  const scope = crypto()
    .createHash('sha256')
    .update(JSON.stringify([context.teamId(), filter]))
    .digest('hex')
    .slice(0, 16);
  const { point, positions, endsInsideLine } = await openResumption(context, resume, { stream: 'inbox', id: scope }, (token) => {
    const read = pointOf(token, 'inbox', 'the inbox');
    if (read.scope !== scope) throw foreignToken(read, 'the inbox with these filters');
    return read;
  });
  if (endsInsideLine) await context.terminal.data('\n');
  const tokens = new StreamTokens(context);
  const pointWith = (pending: KnownRequests, seq: number): InboxPoint => ({ stream: 'inbox', seq, scope, pending });
  return {
    start: point,
    tokenAfter: (id, pending, seq) =>
      tokens.after(
        pending.size,
        () => pointWith(new Map(pending), seq),
        () => pointWith(new Map([[id, pending.get(id) ?? resolved]]), seq),
      ),
    onPrinted: ({ resume: token }) => savePosition(context.terminal, positions, token),
    close: () => {
      tokens.close();
      closePositions(context, positions);
    },
  };
}
