import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, dateTime, flag, text, toggle } from '../../cli/kit/flags.ts';
import { Count, listFlags, refuseRows, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn, wideForIds } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId, queueId } from '../../cli/names/resolve.ts';
import { runWord } from '../../cli/names/run-names.ts';
import { runStatusFilters } from '../../interface/run-status.ts';
import type { RunListItem } from '../../interface/types.ts';
import type { Column } from '../../terminal/table.ts';
import { issuesInWords } from './evaluation-sheet.ts';

const columns: Column<RunListItem>[] = [
  column('RUN', runWord),
  statusColumn((run) => run.status),
  column('TITLE', (run) => run.title, { shrink: true }),
  column('AGENT', (run) => run.agent_name, { shrink: true }),
  timeColumn('CREATED', (run) => run.created_at),
  idColumn((run) => run.id, { wide: wideForIds }),
];

export default defineCommand({
  summary: 'List runs, the newest first',
  description:
    'Filters narrow the list together. A TIME is a date or date-time of this time zone (2026-07-01 is its beginning), one with a zone (2026-07-01T09:30Z), today, yesterday, or how long ago: 30m, 2h, 7d.',
  options: {
    ...listFlags,
    count: flag('Print only how many there are'),
    total: toggle('Whether to count those that are not shown (default yes)'),
    agent: text('ID|NAME', 'Runs of this agent', { complete: 'agents' }),
    status: choice(runStatusFilters, 'Runs with this status; needs_attention are those that wait or failed', { metavar: 'STATUS' }),
    search: text('TEXT', 'Runs whose title, agent or id contains this'),
    since: dateTime('Runs created at this time or later'),
    until: dateTime('Runs created before this time'),
    source: text('WORD', 'Runs that were started this way'),
    user: text('ID', 'Runs that this user started', { check: uuid }),
    queue: text('QUEUE', 'Runs for cases of this queue, by id or name', { complete: 'queues' }),
    digest: text('ID', 'Runs of this digest', { check: uuid }),
    hasIssues: toggle('Runs whose evaluation found issues, or --no-has-issues for the others'),
    issueSeverity: choice(['critical', 'medium', 'low'], 'Runs with issues of this severity'),
    sortBy: choice(['created_at'], 'What to sort by', { metavar: 'FIELD' }),
    sortOrder: choice(['asc', 'desc'], 'Oldest or newest first'),
  },
  operations: ['listRuns', 'listAgents', 'listQueues'],
  examples: [
    { command: 'aops runs list', text: 'The newest twenty' },
    { command: 'aops runs list --status waiting', text: 'Runs that wait for a person' },
    { command: 'aops runs list --has-issues --since yesterday', text: 'Runs that were judged to have issues, and how severe' },
    { command: 'aops runs list --since yesterday --until today --status failed --count', text: 'How many failed yesterday' },
    { command: 'aops runs list --agent invoice-check --all -o ndjson', text: 'Every run of an agent, one JSON object a line' },
  ],
  result: returns('listRuns.data[]'),
  output: listOutput<RunListItem>({
    columns,
    forms: {
      issues: columns.toSpliced(
        4,
        0,
        column('ISSUES', ({ eval_summaries: summary }) => issuesInWords(summary?.severityCounts)),
      ),
    },
    empty: 'No runs. Start one with `aops runs start --agent AGENT`.',
  }),
  async run(context, input) {
    const { agent, sortOrder, hasIssues, total } = input;
    const now = context.clock.now();
    const [since, until] = [input.since?.iso(now), input.until?.iso(now)];
    if (since !== undefined && until !== undefined && until <= since)
      throw new UsageError(
        `The range ends before it begins: --since is ${since}, and --until is ${until}.`,
        'Times such as 3d are ago: the day before the last two days is --since 3d --until 2d.',
      );
    const client = await context.client();
    const filters = omitUndefined({
      agent_id: agent === undefined ? undefined : await agentId(context, agent),
      digest_id: input.digest,
      status: input.status,
      since,
      until,
      user_id: input.user,
      case_queue_id: input.queue === undefined ? undefined : await queueId(context, input.queue),
      source: input.source,
      search: input.search,
      has_issues: hasIssues === undefined ? undefined : hasIssues ? ('true' as const) : ('false' as const),
      issue_severity: input.issueSeverity,
      sort_by: input.sortBy ?? (sortOrder === undefined ? undefined : 'created_at'),
      sort_order: sortOrder,
    });
    const params = { teamId: context.teamId() };
    if (input.count) {
      refuseRows(input);
      return new Count((await client.call('listRuns', { params, query: { ...filters, count_only: 'true' } })).total);
    }
    const counting = total === false ? { include_total: 'false' as const } : {};
    const list = rowList(input, async (limit, offset) => {
      const page = await client.call('listRuns', { params, query: { ...filters, ...counting, limit, offset } });
      return { items: page.data, total: page.total };
    });
    list.counted = total !== false;
    list.narrowed = Object.keys(filters).some((name) => !name.startsWith('sort_'));
    if (hasIssues !== undefined || input.issueSeverity !== undefined) list.form = 'issues';
    return list;
  },
});
