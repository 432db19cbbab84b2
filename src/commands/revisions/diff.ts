import { UsageError } from '../../base/errors.ts';
import { openTeamPage, pageView, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, findRevision, namedRevision } from '../../cli/names/revision.ts';
import { type ConfigChange, configChanges } from '../../cli/records/config-changes.ts';
import { procedureOf, revisionTitle } from '../../cli/records/revision.ts';
import type { Build } from '../../interface/types.ts';
import { renderConfigDiff } from './compare.ts';

interface Difference {
  same: boolean;
  before: Build;
  after: Build;
  procedure: { before: string; after: string };
  config: ConfigChange[];
}

export default defineCommand({
  summary: 'Compare the procedures and settings of two revisions',
  description:
    'Procedures are compared as a unified diff, which `patch` can apply if it is not coloured. If both revisions are the same, nothing is printed.',
  arguments: {
    before: namedRevision('The first revision: its ID, AGENT@live, AGENT@latest, or AGENT@NUMBER'),
    after: namedRevision('The second revision; live, latest, or a number is enough if the agent is known'),
  },
  options: { agent: agentFlag, ...webFlag },
  operations: ['listAgents', 'listAgentRevisions', 'getRevision', 'createPageCode'],
  examples: [
    { command: 'aops revisions diff invoice-check@live latest', text: 'Show what promoting the newest revision would change' },
    { command: 'aops revisions diff 2 3 --agent invoice-check', text: 'Compare revisions by number' },
    { command: 'aops revisions diff invoice-check@live latest --web', text: 'Open the comparison in a browser' },
    { command: "aops revisions diff 2 live --agent invoice-check --jq '.same'", text: 'Print whether two revisions are the same' },
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
    if (input.web) {
      if (before.agent_id !== after.agent_id)
        throw new UsageError(
          'The page compares revisions of the same agent only.',
          'Leave out --web to compare revisions of two agents here.',
        );
      return openTeamPage(context, pageView(`/agents/${after.agent_id}/revisions/${after.id}`, { compare: before.id }));
    }
    const procedure = { before: procedureOf(before.config), after: procedureOf(after.config) };
    const config = configChanges(before.config, after.config);
    const same = procedure.before === procedure.after && config.length === 0;
    if (same) context.terminal.note('The revisions are the same.');
    return { same, before, after, procedure, config };
  },
});

/** The agent in front of the `@`, which also applies to the other revision. */
function agentIn(word: string): string | undefined {
  const separator = word.lastIndexOf('@');
  return separator > 0 ? word.slice(0, separator) : undefined;
}
