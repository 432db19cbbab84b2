/** How rubrics are displayed, and how an argument identifies one. */
import { AopsError, exitCodes } from '../../../base/errors.ts';
import { nearest } from '../../../base/nearest.ts';
import { length } from '../../../cli/kit/checks.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { column } from '../../../cli/kit/output.ts';
import { revisionId, revisionOfAgent } from '../../../cli/names/revision.ts';
import type { Rubric } from '../../../interface/types.ts';

export const revisionOption = revisionOfAgent('Rubrics of this revision only');
export const titleCheck = { check: length(3, 80) };
export const descriptionCheck = length(20, 400);

/** How much of the rubric is checked; all of it if the service does not report this. */
const checksText = ({ checks, unclear }: Rubric): string =>
  unclear === undefined || unclear.length === 0 ? 'yes' : (checks ?? []).length === 0 ? 'no' : 'partly';

export const rubricColumns = [
  column('RUBRIC', (rubric: Rubric) => rubric.slug, { shrink: true, min: 12 }),
  column('SEVERITY', (rubric: Rubric) => rubric.severity, { style: 'status' }),
  column('CHECKED', checksText),
  column('DESCRIPTION', (rubric: Rubric) => rubric.description, { shrink: true, min: 20 }),
];

export const rubricRecord = (rubric: Rubric) => ({
  ID: rubric.id,
  Rubric: rubric.slug,
  Title: rubric.title,
  Description: rubric.description,
  Severity: rubric.severity,
  Checks: rubric.checks?.join('\n') || undefined,
  'Cannot be checked': rubric.unclear?.join('\n') || undefined,
});

/** The revision specified with `--revision`; `live`, `latest` and numbers refer to the agent. */
export async function revisionQuery(context: Context, agent: string, word: string | undefined): Promise<{ build_id?: string }> {
  if (word === undefined) return {};
  return { build_id: await revisionId(context, word, agent) };
}

/** The rubrics of an agent, or of one of its revisions. */
export async function rubricsOf(context: Context, agent: string, revision: { build_id?: string }): Promise<Rubric[]> {
  const client = await context.client();
  return (await client.call('getEvalRubrics', { params: { agentId: agent }, query: revision })).rubrics;
}

/** The rubric with this ID or slug. @throws AopsError `rubric_not_found` (exit 3) */
export async function findRubric(context: Context, agent: string, word: string, revision: { build_id?: string }): Promise<Rubric> {
  const rubrics = await rubricsOf(context, agent, revision);
  const match = rubrics.find(({ id, slug }) => id === word.toLowerCase() || slug === word);
  if (match) return match;
  const suggestion = nearest(
    word,
    rubrics.map(({ slug }) => slug),
  );
  throw new AopsError(`The agent has no rubric "${word}".`, {
    code: 'rubric_not_found',
    exit: exitCodes.notFound,
    hint: suggestion === undefined ? 'List its rubrics with `aops agents rubrics list AGENT`.' : `Did you mean ${suggestion}?`,
  });
}
