/** Which events of several runs a command reads: after a token, or the last messages of each run, and until when. */
import { crypto } from '../../../base/crypto.ts';
import { UsageError } from '../../../base/errors.ts';
import { readBeforeWatching } from '../../../cli/following/outage.ts';
import type { PositionFile } from '../../../cli/following/position-file.ts';
import { resumeSource } from '../../../cli/following/resume-source.ts';
import type { Context } from '../../../cli/kit/context.ts';
import type { RunSelection } from '../../../watch/many/watch-runs.ts';
import { positionOf } from '../../../watch/resume/starts.ts';
import { decodeToken, type RunsPoint } from '../../../watch/resume/token.ts';
import type { ReadingInput } from '../reading.ts';

export interface ManyReading {
  /** Where to begin; undefined to read all runs from their beginning. */
  point: RunsPoint | undefined;
  /** Remembers the position after an event that has left this process. */
  positions?: PositionFile;
  /** Ends an incomplete line before the first event. */
  endsInsideLine?: true;
  until: readonly string[];
}

/** @throws UsageError for options that contradict one another, and for a token that does not belong to the runs */
export async function openManyReading(context: Context, selection: RunSelection, input: ReadingInput): Promise<ManyReading> {
  const { resume, until, tail } = input;
  const since = input.since && Date.parse(input.since.iso(context.clock.now()));
  const hasWindow = tail !== undefined || since !== undefined;
  if (resume === undefined) return { point: hasWindow ? await windowOf(context, selection, { tail, since }) : undefined, until };
  if (hasWindow) throw new UsageError('For several runs, --tail and --since cannot be combined with --resume.');
  const source = await resumeSource(context, resume, { stream: 'runs', id: streamId(selection) });
  const { positions, endsInsideLine, token } = source;
  try {
    const point = token === undefined ? undefined : pointFor(decodeToken(token), selection);
    return { point, until, ...(positions && { positions }), ...(endsInsideLine && { endsInsideLine }) };
  } catch (error) {
    positions?.close();
    throw error;
  }
}

/** The beginning of each run, with only its last messages. */
async function windowOf(
  context: Context,
  selection: RunSelection,
  window: { tail: number | undefined; since: number | undefined },
): Promise<RunsPoint> {
  if (selection.kind === 'filter')
    throw new UsageError('--tail and --since need the names of the runs.', 'Name the runs, or leave the options out.');
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

/** The same for the same runs in any order, and for the same filters. */
function streamId(selection: RunSelection): string {
  const text =
    selection.kind === 'named'
      ? selection.runs
          .map(({ id }) => id)
          .sort()
          .join()
      : JSON.stringify(selection.filter);
  return crypto().createHash('sha256').update(text).digest('hex').slice(0, 32);
}
