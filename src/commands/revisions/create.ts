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
    'It begins as a copy: of the live revision, or of another with --from. With --procedure it has that procedure, and the rest of what it is a copy of. Nothing follows it before it is promoted.',
  arguments: { agent: argument('The agent, by id or name', { complete: 'agents' }) },
  options: {
    name: text('NAME', 'Name of the revision (default: where it comes from)'),
    from: copiedRevision('Begin with a copy of this one: its id, or live, latest or a number'),
    procedure: text('FILE|-', 'The procedure it runs', { complete: 'files' }),
    runtime: text('NAME', 'What executes the procedure (default: what executes the other)'),
    ...bodyFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision', 'createRevision'],
  mutates: true,
  examples: [
    { command: 'aops revisions create invoice-check', text: 'A draft of the live revision, to be changed' },
    { command: 'aops revisions create invoice-check --procedure procedure.yaml --name spring', text: 'One with a procedure of its own' },
    { command: 'aops revisions create invoice-check --from 2', text: 'Go on from an older one' },
  ],
  result: returns('createRevision.build'),
  output: recordOutput<Build>(revisionRecord),
  async run(context, input) {
    const client = await context.client();
    const { name, from, procedure, runtime } = input;
    checkRuntime(input);
    const given = ((await bodyFromFlags(context, input)) ?? {}) as Partial<Body<'createRevision'>>;
    const written = procedure === undefined ? undefined : await readText(context, procedure);
    const agent = await agentId(context, input.agent);
    const other = from ?? given.source_build_id;
    // Asked for with all its fields only where they are needed: by its id alone that takes many requests.
    const copied =
      written === undefined ? undefined : await (other === undefined ? liveRevision(context, agent) : copy(context, other, agent));
    const config = written === undefined ? given.config : changedConfig(copied?.config, written, runtime);
    const source = other === undefined ? undefined : (copied?.id ?? (await revisionId(context, other, agent)));
    const body = {
      ...given,
      name:
        name ??
        given.name ??
        (procedure === undefined ? `Copy of ${from ?? 'live'}` : `From ${procedure === '-' ? 'standard input' : procedure}`),
      ...(config === undefined ? {} : { config }),
      ...(source === undefined ? {} : { source_build_id: source }),
    };
    const created = client.call('createRevision', { params: { agent_id: agent }, body });
    return (await explainProcedure(procedure === '-' ? 'standard input' : (procedure ?? '--input'), created)).build;
  },
});

/** The revision to begin with: of this agent, or of any when it is given by its id. */
const copy = (context: Context, given: string, agent: string): Promise<Build> =>
  findRevision(context, given, isUuid(given) ? undefined : agent);
