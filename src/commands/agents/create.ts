import { UsageError } from '../../base/errors.ts';
import type { Agent, Body } from '../../interface/types.ts';
import { bodyFlags, bodyFromFlags, readText } from '../body.ts';
import { length } from '../checks.ts';
import { defineCommand, optionalArgument, text } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { explainProcedure, revisionConfig } from './procedure.ts';
import { agentRecord } from './record.ts';

export default defineCommand({
  summary: 'Create an agent, with the procedure it runs',
  description: 'The procedure becomes the first revision, and it is live at once. Names are unique in a team.',
  arguments: { name: optionalArgument('Name of the agent; may also be in --input', { check: length(1) }) },
  options: {
    procedure: text('FILE|-', 'The procedure it runs', { complete: 'files' }),
    runtime: text('NAME', 'What executes the procedure (default script)', { check: length(1) }),
    ...bodyFlags,
  },
  operations: ['createAgent'],
  mutates: true,
  examples: [{ command: 'aops agents create invoice-check --procedure procedure.yaml', text: 'An agent that follows a script' }],
  result: returns('createAgent.agent'),
  output: recordOutput<Agent>(agentRecord),
  async run(context, input) {
    const client = await context.client();
    const { name, procedure, runtime } = input;
    const given = ((await bodyFromFlags(context, input)) ?? {}) as Partial<Body<'createAgent'>>;
    const build =
      procedure === undefined
        ? given.build
        : { name: 'Revision 1', config: revisionConfig(await readText(context, procedure), runtime ?? 'script') };
    const body = { ...given, name: name ?? given.name, ...(build === undefined ? {} : { build }) };
    if (!body.name) throw new UsageError('The agent needs a name.', 'Write `aops agents create NAME`.');
    const created = client.call('createAgent', { params: { teamId: context.teamId() }, body: body as Body<'createAgent'> });
    return (await explainProcedure(procedure === '-' ? 'standard input' : (procedure ?? '--input'), created)).agent;
  },
});
