/** Which events of several runs a command reads: after a token, or the last messages of each run, and until when. */
import { crypto } from '../../../base/crypto.ts';
import { UsageError } from '../../../base/errors.ts';
import { readBeforeWatching } from '../../../cli/following/outage.ts';
import { openResumption, type Resumption } from '../../../cli/following/resumption.ts';
import type { Context } from '../../../cli/kit/context.ts';
import type { RunSelection } from '../../../watch/many/watch-runs.ts';
import { positionOf } from '../../../watch/resume/start-position.ts';
import { pointOf, type RunsPoint } from '../../../watch/resume/token.ts';
import type { ReadingInput } from '../reading.ts';

export interface ManyReading extends Resumption<RunsPoint> {
  until: readonly string[];
}

/** @throws UsageError for options that contradict one another, and for a token that does not belong to the runs */
export async function openManyReading(context: Context, selection: RunSelection, input: ReadingInput): Promise<ManyReading> {
  const { resume, until, tail } = input;
  const since = input.since && Date.parse(input.since.iso(context.clock.now()));
  const hasWindow = tail !== undefined || since !== undefined;
  if (resume === undefined) return { point: hasWindow ? await windowOf(context, selection, { tail, since }) : undefined, until };
  if (hasWindow) throw new UsageError('For several runs, --tail and --since cannot be combined with --resume.');
  const stream = { stream: 'runs', id: streamId(context, selection) };
  const decode = (token: string) => pointFor(pointOf(token, 'runs', 'a stream of runs'), selection);
  return { ...(await openResumption(context, resume, stream, decode)), until };
}

/** The beginning of each run, with only its last messages. */
async function windowOf(
  context: Context,
  selection: RunSelection,
  window: { tail: number | undefined; since: number | undefined },
): Promise<RunsPoint> {
  if (selection.kind === 'filter')
    throw new UsageError('--tail and --since require named runs.', 'Name the runs, or leave out these options.');
  return readBeforeWatching(context, async (reading) => {
    const client = await reading.client();
    const runs = new Map();
    for (const { id } of selection.runs) runs.set(id, await positionOf(client, id, window));
    return { stream: 'runs', seq: 0, runs };
  });
}

/** @throws UsageError `resume_token_foreign` for a token of other runs */
function pointFor(point: RunsPoint, selection: RunSelection): RunsPoint {
  if (selection.kind === 'filter') return point;
  const ids = new Set(selection.runs.map(({ id }) => id));
  const foreign = [...point.runs.keys()].find((id) => !ids.has(id));
  if (foreign === undefined) return point;
  throw new UsageError(
    `The resume token belongs to a stream that contains run ${foreign}, which is not one of these runs.`,
    'Pass the token with the same runs as the command that printed it.',
    'resume_token_foreign',
  );
}

/** The same for the same runs in any order, and for the same filters of a team. */
function streamId(context: Context, selection: RunSelection): string {
  const text =
    selection.kind === 'named'
      ? selection.runs
          .map(({ id }) => id)
          .sort()
          .join()
      : JSON.stringify([context.teamId(), selection.filter]);
  return crypto().createHash('sha256').update(text).digest('hex').slice(0, 32);
}
