import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, dateTime, integer, text, toggle } from '../../cli/kit/flags.ts';
import { column, idColumn, listOutput, wideViewForIds } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { resolveRuns } from '../../cli/names/resolve-run.ts';
import { anyRunsArgument, runWord } from '../../cli/names/run-names.ts';
import { pagedRows } from '../../client/paging.ts';
import { runStatusFilters } from '../../interface/run-status.ts';
import type { Rerun } from './bulk/rerun-runs.ts';

const defaultConcurrency = 4;
const filters = ['agent', 'status', 'since', 'until', 'search'] as const;

export default defineCommand({
  summary: 'Start runs again, with the same agent, message, files, and repository',
  description:
    'Name the runs, or select them with filters; runs that filters select are shown first, and started only after you have confirmed. The service does not store how a run was started, so the command puts it together from what the service returns: the first message, the commit of the repository, and the files in the sandbox that have not changed since the start. Files that the run wrote or changed are not copied, and are named. The live revision of the agent is used; webhook URLs and answers are not repeated. For runs that worked on a case, use `aops cases reprocess`. After an interruption, run the same command again: it continues with the same runs, and starts none of them twice.',
  arguments: { run: anyRunsArgument({ unless: filters }) },
  options: {
    agent: text('ID|NAME', 'Select runs of this agent', { complete: 'agents' }),
    status: choice(runStatusFilters, 'Select runs with this status; needs_attention means waiting or failed', { metavar: 'STATUS' }),
    since: dateTime('Select runs created at or after this time'),
    until: dateTime('Select runs created before this time'),
    search: text('TEXT', 'Select runs whose title, agent, or ID contains this text'),
    files: toggle('Whether to copy the files that the runs were started with (default: yes)'),
    webhookUrl: text('URL', 'Send the events of the new runs to this URL', { check: webAddress }),
    concurrency: integer('N', 'Requests at the same time (default: 4)', { minimum: 1, maximum: 32 }),
  },
  operations: [
    'listRuns',
    'listAgents',
    'getRun',
    'listRunMessages',
    'getRunChanges',
    'listRunSandboxFiles',
    'getRunSandboxFileContent',
    'getRunSandboxArchive',
    'createSandbox',
    'uploadSandboxArchive',
    'uploadSandboxFile',
    'createSandboxUploadUrl',
    'startRun',
  ],
  mutates: true,
  examples: [
    { command: 'aops runs rerun @latest', text: 'Start the newest run again' },
    { command: 'aops runs rerun 17 18 -o id', text: 'Start two runs again, and print the IDs of the new runs' },
    { command: 'aops runs rerun --agent invoice-check --status failed --since yesterday', text: 'Start failed runs again after a preview' },
  ],
  result: returns({ id: 'uuid', run_number: 'integer|null', agent_id: 'uuid|null', rerun_of: 'uuid' }),
  output: listOutput<Rerun>({
    columns: [
      column('RUN', runWord),
      column('RERUN OF', (run) => run.rerun_of),
      idColumn((run) => run.id, { minViewWidth: wideViewForIds }),
    ],
    empty: 'No run matches the filters.',
  }),
  async run(context, input) {
    const passedFilters = filters.filter((name) => input[name] !== undefined);
    if (context.flags.idempotencyKey !== undefined)
      throw new UsageError('--idempotency-key cannot be used here: every run has its own key. Repeat the same command to continue it.');
    if (input.run.length > 0 && passedFilters.length > 0)
      throw new UsageError('Runs and filters cannot be combined.', 'Name runs, or select them with filters such as --agent.');
    if (input.run.length === 0 && passedFilters.length === 0)
      throw new UsageError('No runs were specified.', 'Pass their numbers or IDs, or filters such as --agent and --status.');
    await context.client();
    const { rerunRuns } = await import('./bulk/rerun-runs.ts');
    const options = {
      files: input.files !== false,
      webhookUrl: input.webhookUrl,
      concurrency: input.concurrency ?? defaultConcurrency,
    };
    const ids = (await resolveRuns(context, input.run)).map(({ id }) => id);
    if (ids.length > 0)
      return rerunRuns(context, {
        ...options,
        identity: { ids, ...options, concurrency: 0 },
        select: async () => ids,
        needsConfirmation: false,
      });
    const { agent, status, since, until, search } = input;
    const agent_id = agent === undefined ? undefined : await agentId(context, agent);
    // A relative time such as 2h is part of the identity as it was written.
    const identity = { ...options, concurrency: 0, agent_id, status, since: since?.iso(0), until: until?.iso(0), search };
    const now = context.clock.now();
    const query = omitUndefined({ agent_id, status, since: since?.iso(now), until: until?.iso(now), search });
    return rerunRuns(context, { ...options, identity, select: () => matchingRuns(context, query), needsConfirmation: true });
  },
});

/** The IDs of the matching runs, oldest first. */
async function matchingRuns(context: Context, filter: object): Promise<string[]> {
  const client = await context.client();
  const params = { teamId: context.teamId() };
  const ids: string[] = [];
  const runs = pagedRows(async (limit, offset) => {
    const page = await client.call('listRuns', { params, query: { ...filter, limit, offset } });
    return { items: page.data, total: page.total };
  }, 100);
  for await (const { id } of runs) ids.unshift(id);
  return ids;
}
