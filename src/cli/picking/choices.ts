/** The choices for a missing argument: the same values that shell completion offers, read at this moment. */
import type { Client } from '../../client/client.ts';
import { isActive, type RunStatus, runStatuses } from '../../interface/run-status.ts';
import type { RunListItem } from '../../interface/types.ts';
import type { Choice } from '../../terminal/prompts.ts';
import { relativeTime } from '../../terminal/relative-time.ts';
import { truncate, widthFor } from '../../terminal/width.ts';
import { isUuid } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import type { PickedRuns, RemoteSource } from '../kit/flags.ts';
import { runTitle } from '../names/run-names.ts';
import { readWords, type Word } from './sources.ts';

/** Sources of values that can be picked. */
export type PickedSource = RemoteSource | 'cases' | 'profiles';

/** Runs, newest first. A service may ignore a filter, so its response is filtered again. */
async function runRows(client: Client, teamId: string, state: PickedRuns | undefined): Promise<RunListItem[]> {
  const readRuns = async (status: RunStatus | undefined): Promise<RunListItem[]> => {
    const query = { limit: maxRows, ...(status === undefined ? {} : { status }) };
    return (await client.call('listRuns', { params: { teamId }, query })).data;
  };
  if (state === undefined) return readRuns(undefined);
  const statuses = state === 'waiting' ? (['waiting'] as const) : runStatuses.filter(isActive);
  const runs = await Promise.all(statuses.map(async (status) => (await readRuns(status)).filter((run) => run.status === status)));
  return runs.flat().sort((a, b) => creationTime(b) - creationTime(a));
}

/** Runs without a time are sorted last. */
const creationTime = ({ created_at }: RunListItem): number => (created_at === null ? 0 : Date.parse(created_at));

/** Maximum number of rows to pick from. */
const maxRows = 100;

/**
 * @param of the agent or queue to which the values belong, if any
 * @param runs limits runs to these
 */
export async function choicesOf(
  context: Context,
  source: PickedSource,
  { ownerName: owner, runs }: { ownerName: string | undefined; runs: PickedRuns | undefined },
): Promise<Choice<string>[]> {
  if (source === 'profiles') return context.store.profiles().map(({ name, base_url }) => wordChoice([name, base_url]));
  const client = await context.client();
  if (source === 'cases') return caseChoices(client, owner as string);
  if (source === 'runs') return runChoices(client, context, runs);
  return (await readWords(source, client, context.teamId(), owner)).map(wordChoice);
}

/** A name comes first; an ID comes after its description. */
function wordChoice([word, summary]: Word): Choice<string> {
  if (summary === '' || isUuid(summary)) return { value: word, name: word };
  return { value: word, name: isUuid(word) ? `${summary}  ${word}` : `${word}  ${summary}` };
}

async function caseChoices(client: Client, queue_id: string): Promise<Choice<string>[]> {
  const { cases } = await client.call('listCases', { params: { queue_id }, query: { limit: maxRows } });
  return cases.map(({ id, title, display_status }) => ({ value: id, name: `${display_status}  ${title}` }));
}

async function runChoices(client: Client, context: Context, state: PickedRuns | undefined): Promise<Choice<string>[]> {
  const rows = await runRows(client, context.teamId(), state);
  const { columns } = context.terminal.err;
  const now = context.clock.now();
  const ages = rows.map(({ created_at }) => (created_at === null ? '' : relativeTime(new Date(created_at), now)));
  const names = rows.map((run) => `${run.agent_name}: ${run.title}`);
  const widthOf = await widthFor(names);
  const maxLength = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => text.length));
  const [titles, statuses, times] = [maxLength(rows.map(runTitle)), maxLength(rows.map(({ status }) => status)), maxLength(ages)];
  return rows.map((run, index) => {
    const prefix = [runTitle(run).padEnd(titles), run.status.padEnd(statuses), (ages[index] as string).padEnd(times)].join('  ');
    // Each choice must fit on one line; the marker in front of it takes two columns.
    const available = Math.max(10, columns - prefix.length - 5);
    return { value: run.id, name: `${prefix}  ${truncate(names[index] as string, available, widthOf)}` };
  });
}
