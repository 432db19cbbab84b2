import { bodyFlags, bodyFromFlags, readText } from '../../cli/input/body.ts';
import { changedConfig, checkRuntime, explainProcedure } from '../../cli/input/procedure.ts';
import { isUuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { copiedRevision, findRevision, liveRevision, revisionId } from '../../cli/names/revision.ts';
import { revisionRecord } from '../../cli/records/revision.ts';
import type { Body, Build } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Create a draft revision of an agent',
  description:
    'The draft is a copy of the live revision, or of another one with --from. --procedure replaces only the procedure of the copy. Runs do not use a draft until it is promoted.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: {
    name: text('NAME', 'Name of the revision (default: named after its source)'),
    from: copiedRevision('Copy this revision: its ID, live, latest, or a number'),
    procedure: text('FILE|-', 'Procedure of the revision', { complete: 'files' }),
    runtime: text('NAME', 'Runtime that executes the procedure (default: that of the copied revision)'),
    ...bodyFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision', 'createRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions create invoice-check', text: 'Create a draft from the live revision' },
    {
      command: 'aops revisions create invoice-check --procedure procedure.yaml --name spring',
      text: 'Create a draft with a new procedure',
    },
    { command: 'aops revisions create invoice-check --from 2', text: 'Create a draft from an older revision' },
  ],
  result: returns('createRevision.build'),
  output: recordOutput<Build>(revisionRecord),
  async run(context, input) {
    const client = await context.client();
    const { name, from, procedure, runtime } = input;
    checkRuntime(input);
    const fields = ((await bodyFromFlags(context, input)) ?? {}) as Partial<Body<'createRevision'>>;
    const newProcedure = procedure === undefined ? undefined : await readText(context, procedure);
    const agent = await agentId(context, input.agent);
    const other = from ?? fields.source_build_id;
    // The copied revision is read completely only if its configuration is needed: finding it by its ID takes many requests.
    const copiedRevision =
      newProcedure === undefined ? undefined : await (other === undefined ? liveRevision(context, agent) : copy(context, other, agent));
    const config = newProcedure === undefined ? fields.config : changedConfig(copiedRevision?.config, newProcedure, runtime);
    const source = other === undefined ? undefined : (copiedRevision?.id ?? (await revisionId(context, other, agent)));
    const body = {
      ...fields,
      name:
        name ??
        fields.name ??
        (procedure === undefined ? `Copy of ${from ?? 'live'}` : `From ${procedure === '-' ? 'standard input' : procedure}`),
      ...(config === undefined ? {} : { config }),
      ...(source === undefined ? {} : { source_build_id: source }),
    };
    const call = client.call('createRevision', { params: { agent_id: agent }, body });
    return (await explainProcedure(procedure === '-' ? 'standard input' : (procedure ?? '--input'), call)).build;
  },
});

/** The revision to copy: one of this agent, or of any agent if it is specified by ID. */
const copy = (context: Context, word: string, agent: string): Promise<Build> =>
  findRevision(context, word, isUuid(word) ? undefined : agent);
