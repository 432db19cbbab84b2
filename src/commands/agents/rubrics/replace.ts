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
import { revisionGiven, revisionOption, rubricColumns, rubricsOf } from './record.ts';

export default defineCommand({
  summary: 'Replace the rubrics of an agent by those of a file',
  description:
    'The file is a list in YAML or JSON, of entries with `title` and `description`. A rubric whose title stays is the same one; those that are not in the file are deleted. A file has five at most; add more with `rubrics create`.',
  arguments: { agent: argument('The agent, by id or name', { complete: 'agents' }) },
  options: { from: requiredText('FILE|-', 'The rubrics, in their order', { complete: 'files' }), revision: revisionOption },
  operations: ['listAgents', 'listAgentRevisions', 'getEvalRubrics', 'replaceEvalRubrics'],
  mutates: true,
  destructive: true,
  examples: [
    { command: 'aops agents rubrics replace invoice-check --from rubrics.yaml --yes', text: 'Rubrics that are kept beside the procedure' },
  ],
  result: returns('replaceEvalRubrics.rubrics[]'),
  output: listOutput<Rubric>({ columns: rubricColumns, empty: 'The agent has no rubrics now.' }),
  async run(context, input) {
    const client = await context.client();
    const rubrics = await draftsOf(await readText(context, input.from), input.from);
    const agent = await agentId(context, input.agent);
    const of = await revisionGiven(context, agent, input.revision);
    const before = await rubricsOf(context, agent, of);
    const gone = before.filter(({ title }) => !rubrics.some((draft) => draft.title === title));
    const what = gone.length === 0 ? 'none is deleted' : `${gone.map(({ title }) => `"${title}"`).join(', ')} deleted`;
    await confirm(context, `Replace ${pluralize(before.length, 'rubric')} by ${rubrics.length} (${what})?`);
    const params = { agentId: agent };
    return wholeList((await client.call('replaceEvalRubrics', { params, body: { rubrics, ...of } })).rubrics);
  },
});

/** Rubrics of one request at the most, as the interface has it. */
const mostRubrics = 5;

/** @throws UsageError naming the entry that is wrong */
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
    throw new UsageError(`${name} is no list of rubrics.`, 'Write entries such as "- { title: Paid, description: ... }".');
  if (entries.length > mostRubrics)
    throw new UsageError(
      `${name} has ${entries.length} rubrics, and at most ${mostRubrics} can be set at once.`,
      'Leave some out, and add them with `aops agents rubrics create`.',
    );
  return entries.map((entry: unknown, index) => {
    const { title, description } = (entry ?? {}) as { title?: unknown; description?: unknown };
    if (typeof title !== 'string' || typeof description !== 'string')
      throw new UsageError(`${name}: entry ${index + 1} needs \`title\` and \`description\`, both texts.`);
    const at = `${name}: entry ${index + 1}, `;
    return { title: within(title.trim(), 3, 80, `${at}title`), description: within(description.trim(), 20, 400, `${at}description`) };
  });
}

function within(value: string, least: number, most: number, what: string): string {
  const count = [...value].length;
  if (count >= least && count <= most) return value;
  throw new UsageError(`${what} has ${count} characters; ${least} to ${most} are allowed.`);
}
