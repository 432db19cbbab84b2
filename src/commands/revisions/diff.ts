import { defineCommand } from '../../cli/kit/command.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, findRevision, namedRevision } from '../../cli/names/revision.ts';
import { procedureOf, revisionTitle } from '../../cli/records/revision.ts';
import type { Build } from '../../interface/types.ts';
import { type ConfigChange, configChanges, renderConfigDiff } from './compare.ts';

interface Difference {
  same: boolean;
  before: Build;
  after: Build;
  procedure: { before: string; after: string };
  config: ConfigChange[];
}

export default defineCommand({
  summary: 'Compare two revisions: their procedures line by line, and what else they run with',
  description:
    'The procedures are shown as a unified diff, which `patch` understands when it is not coloured. Nothing is printed when both are the same.',
  arguments: {
    before: namedRevision('The one: its id, or AGENT@live, AGENT@latest, AGENT@NUMBER'),
    after: namedRevision('The other; with an agent in front of either, live, latest or a number will do'),
  },
  options: { agent: agentFlag },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision'],
  examples: [
    { command: 'aops revisions diff invoice-check@live latest', text: 'What promoting the newest one would change' },
    { command: 'aops revisions diff 2 3 --agent invoice-check', text: 'By number' },
    { command: "aops revisions diff 2 live --agent invoice-check --jq '.same'", text: 'In a script' },
  ],
  result: returns({
    same: 'boolean',
    before: 'object',
    after: 'object',
    procedure: { before: 'string', after: 'string' },
    config: [{ path: 'string', before: 'any', after: 'any' }],
  }),
  output: documentOutput<Difference>(({ before, after }, view) =>
    renderConfigDiff(
      { before: before.config, after: after.config, beforeName: revisionTitle(before), afterName: revisionTitle(after) },
      view,
    ),
  ),
  async run(context, input) {
    const agent = input.agent ?? agentIn(input.before) ?? agentIn(input.after);
    const before = await findRevision(context, input.before, agent);
    const after = await findRevision(context, input.after, agent);
    const procedure = { before: procedureOf(before.config), after: procedureOf(after.config) };
    const config = configChanges(before.config, after.config);
    const same = procedure.before === procedure.after && config.length === 0;
    if (same) context.terminal.note('They are the same.');
    return { same, before, after, procedure, config };
  },
});

/** The agent that a revision is named with, for the other one. */
function agentIn(given: string): string | undefined {
  const at = given.lastIndexOf('@');
  return at > 0 ? given.slice(0, at) : undefined;
}
