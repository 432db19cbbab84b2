/** Which events of a run a command reads: from where on, until when, and where it remembers how far it came. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { readBeforeWatching } from '../../cli/following/outage.ts';
import { resumeFlag } from '../../cli/following/resume-source.ts';
import { openResumption, type Resumption } from '../../cli/following/resumption.ts';
import { length } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { dateTime, integer, type Moment, texts } from '../../cli/kit/flags.ts';
import { type NamedRun, runTitle } from '../../cli/names/run-names.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import { runStart } from '../../watch/resume/run-position.ts';
import { isStillFinished, positionOf } from '../../watch/resume/start-position.ts';
import { runPoint } from '../../watch/resume/token.ts';
import type { RunStart } from '../../watch/watch-run.ts';

export const readingFlags = {
  resume: resumeFlag,
  tail: integer('N', 'Begin with the last N messages', { minimum: 0 }),
  since: dateTime('Begin with the messages since this time'),
  until: texts(
    'PATTERN',
    'End with exit code 0 as soon as a message of the run contains this text; * matches any characters; can be repeated',
    {
      check: length(1),
    },
  ),
} as const;

export interface ReadingInput {
  resume: string | undefined;
  tail: number | undefined;
  since: Moment | undefined;
  until: string[];
}

export interface Reading extends Omit<Resumption<never>, 'point'> {
  start: RunStart;
  /** The request that is still pending since before the start, so that no event reports it. */
  pendingRequest?: HumanRequest;
  /** The run, if it ended before the start and nothing has happened since. */
  finishedRun?: Run;
  until: readonly string[];
}

export const wholeRun: Reading = { start: { seq: 0, position: runStart }, until: [] };

/** @throws UsageError for options that contradict one another, and for a token that does not belong to the run */
export async function openReading(context: Context, runId: string, input: ReadingInput): Promise<Reading> {
  const { resume, until } = input;
  const window = { tail: input.tail, since: input.since && Date.parse(input.since.iso(context.clock.now())) };
  const hasWindow = window.tail !== undefined || window.since !== undefined;
  if (resume !== undefined && hasWindow && !/^(auto(:|$)|@)/.test(resume))
    throw new UsageError(
      '--tail and --since cannot be combined with --resume TOKEN.',
      'A token already determines the first event. With --resume auto or @FILE, they apply as long as there is no position.',
    );
  const resumption = await openResumption(context, resume, { stream: 'run', id: runId }, (token) => runPoint(token, runId));
  const { point, ...source } = resumption;
  try {
    const common = { until, ...source };
    if (point !== undefined) return { ...(await continueAfter(context, runId, point)), ...common };
    const position = hasWindow
      ? await readBeforeWatching(context, async (reading) => positionOf(await reading.client(), runId, window))
      : runStart;
    return { start: { seq: 0, position }, ...common };
  } catch (error) {
    source.positions?.close();
    throw error;
  }
}

/** Reads what happened to the run since the position, as far as events do not report it. */
async function continueAfter(
  context: Context,
  runId: string,
  start: RunStart,
): Promise<Pick<Reading, 'start' | 'pendingRequest' | 'finishedRun'>> {
  const { position } = start;
  return readBeforeWatching(context, async (reading) => {
    const client = await reading.client();
    const { run, pending_human_request: request } = await client.call('getRun', { params: { run_id: runId } });
    if (await isStillFinished(client, runId, position, run.status))
      return { start, finishedRun: { ...run, pending_human_request: request } };
    return { start, ...(request !== null && request.id === position.request?.id && { pendingRequest: request }) };
  });
}

/** The error for a run that completed without a message that matches --until. */
export const noMatchError = (run: NamedRun): AopsError =>
  new AopsError(`Run ${runTitle(run)} completed without a message that matches --until.`, {
    code: 'run_completed',
    exit: exitCodes.conflict,
  });
