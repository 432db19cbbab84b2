/** A builder run in detail: its status, questions, changes, required setup, and the proposal as a diff. */

import { describeRequest } from '../../cli/following/requests.ts';
import { recordFields, status, time } from '../../cli/kit/output.ts';
import type { BuilderRun } from '../../interface/types.ts';
import type { View } from '../../terminal/cell.ts';
import { renderRecord } from '../../terminal/record.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { plainStyles } from '../../terminal/style.ts';
import { questionsOf } from '../../watch/watch-builder-run.ts';
import { renderConfigDiff } from './compare.ts';

export async function builderRunSheet(run: BuilderRun, view: View): Promise<string> {
  const questions = questionsOf(run);
  const sheet = await renderRecord(
    recordFields({
      'Builder run': run.id,
      Revision: run.build_id,
      Status: status(run.status),
      Phase: run.phase ?? undefined,
      Request: run.prompt,
      Error: run.error ?? undefined,
      Ended: run.resolution ?? undefined,
      Asks: questions === undefined ? undefined : describeRequest(questions),
      Started: time(run.started_at),
      Completed: run.completed_at === null ? undefined : time(run.completed_at),
    }),
    view,
  );
  return [sheet, await proposalOf(run, view)].filter((part) => part !== '').join('\n');
}

/** The proposal: the changes in words, the required setup, and the diff. */
export async function proposalOf(run: BuilderRun, view: View): Promise<string> {
  const { bold, success, warning } = view.styles ?? plainStyles;
  const changes = (run.changes ?? []).map((change) => `- ${sanitizeLine(change)}`);
  const setup = run.setup_changes.flatMap(({ title, description, satisfied }) => {
    const sign = satisfied === true ? success('done') : warning('to do');
    return [
      `- ${sanitizeLine(String(title))} (${sign})`,
      ...(satisfied === true || !description ? [] : [`  ${sanitizeLine(String(description))}`]),
    ];
  });
  const proposedConfig = run.proposed_config ?? null;
  const before = run.base_config ?? null;
  const diff =
    proposedConfig === null
      ? ''
      : await renderConfigDiff({ before, after: proposedConfig, beforeName: 'current', afterName: 'proposed' }, view);
  return [section(bold('Changes'), changes), section(bold('To set up'), setup), diff].filter((part) => part !== '').join('\n');
}

const section = (title: string, lines: string[]): string => (lines.length === 0 ? '' : `${title}\n${lines.join('\n')}\n`);
