import { UsageError } from '../../../base/errors.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { readText } from '../../../cli/input/body.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument, requiredText } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Rubric } from '../../../interface/types.ts';
import { revisionOption, revisionQuery, rubricColumns, rubricsOf } from './record.ts';

export default defineCommand({
  summary: 'Replace the rubrics of an agent with those in a file',
  description:
    'The file is a YAML or JSON list of entries with `title` and `description`. Rubrics are matched by title; those that are not in the file are deleted. A file can contain at most five rubrics; add more with `rubrics create`.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: { from: requiredText('FILE|-', 'File with the rubrics in order', { complete: 'files' }), revision: revisionOption },
  operations: ['listAgents', 'listAgentRevisions', 'getEvalRubrics', 'replaceEvalRubrics'],
  mutates: true,
  destructive: true,
  examples: [
    { command: 'aops agents rubrics replace invoice-check --from rubrics.yaml --yes', text: 'Replace the rubrics with those in a file' },
  ],
  result: returns('replaceEvalRubrics.rubrics[]'),
  output: listOutput<Rubric>({ columns: rubricColumns, empty: 'The agent no longer has any rubrics.' }),
  async run(context, input) {
    const client = await context.client();
    const rubrics = await draftsOf(await readText(context, input.from), input.from);
    const agent = await agentId(context, input.agent);
    const revision = await revisionQuery(context, agent, input.revision);
    const existing = await rubricsOf(context, agent, revision);
    const deletedRubrics = existing.filter(({ title }) => !rubrics.some((draft) => draft.title === title));
    const deletions =
      deletedRubrics.length === 0 ? 'none are deleted' : `deletes ${deletedRubrics.map(({ title }) => `"${title}"`).join(', ')}`;
    await confirm(context, `Replace ${pluralize(existing.length, 'rubric')} with ${rubrics.length} (${deletions})?`);
    const params = { agentId: agent };
    return wholeList((await client.call('replaceEvalRubrics', { params, body: { rubrics, ...revision } })).rubrics);
  },
});

/** The maximum number of rubrics in a request. */
const maxRubrics = 5;

/** @throws UsageError naming the invalid entry */
async function draftsOf(content: string, file: string): Promise<{ title: string; description: string }[]> {
  const name = file === '-' ? 'Standard input' : file;
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(content);
  } catch (error) {
    throw new UsageError(`${name} is neither YAML nor JSON: ${(error as Error).message.split('\n')[0]}`);
  }
  const entries = Array.isArray(value) ? value : (value as { rubrics?: unknown } | null)?.rubrics;
  if (!Array.isArray(entries))
    throw new UsageError(`${name} is not a list of rubrics.`, 'Write entries such as "- { title: Paid, description: ... }".');
  if (entries.length > maxRubrics)
    throw new UsageError(
      `${name} has ${entries.length} rubrics, but at most ${maxRubrics} can be set at the same time.`,
      'Remove some, and add them with `aops agents rubrics create`.',
    );
  return entries.map((entry: unknown, index) => {
    const { title, description } = (entry ?? {}) as { title?: unknown; description?: unknown };
    if (typeof title !== 'string' || typeof description !== 'string')
      throw new UsageError(`${name}: entry ${index + 1} needs \`title\` and \`description\`, both texts.`);
    const entryName = `${name}: entry ${index + 1}, `;
    return {
      title: checkLength(title.trim(), 3, 80, `${entryName}title`),
      description: checkLength(description.trim(), 20, 400, `${entryName}description`),
    };
  });
}

function checkLength(value: string, minimum: number, maximum: number, name: string): string {
  const count = [...value].length;
  if (count >= minimum && count <= maximum) return value;
  throw new UsageError(`${name} has ${count} characters; ${minimum} to ${maximum} are allowed.`);
}
