import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { openTeamPage, type PageFilters, pagedByPage, pageView, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, dateTime, flag, text, toggle } from '../../cli/kit/flags.ts';
import { Count, listFlags, refuseRows, rowList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, statusColumn, timeColumn, wideViewForIds } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId, queueId } from '../../cli/names/resolve.ts';
import { runWord } from '../../cli/names/run-names.ts';
import { runStatusFilters } from '../../interface/run-status.ts';
import type { Query, RunListItem } from '../../interface/types.ts';
import type { Column } from '../../terminal/table.ts';
import { issuesInWords } from './evaluation-sheet.ts';

const columns: Column<RunListItem>[] = [
  column('RUN', runWord),
  statusColumn((run) => run.status),
  column('TITLE', (run) => run.title, { shrink: true }),
  column('AGENT', (run) => run.agent_name, { shrink: true }),
  timeColumn('CREATED', (run) => run.created_at),
  idColumn((run) => run.id, { minViewWidth: wideViewForIds }),
];

const notOnPage = {
  ...pagedByPage,
  count: 'the page always shows the number of runs',
  total: 'the page always counts the runs',
} as const;

/** The filters of `listRuns` with the names that they have in the address of the page. */
const pageFilters = (query: Query<'listRuns'>): PageFilters => ({
  agent: query.agent_id,
  queue: query.case_queue_id,
  status: query.status,
  search: query.search,
  since: query.since,
  until: query.until,
  source: query.source,
  user: query.user_id,
  digest: query.digest_id,
  issues: query.has_issues,
  severity: query.issue_severity,
  order: query.sort_order,
});

export default defineCommand({
  summary: 'List runs, newest first',
  description:
    'A run must match all filters. A TIME is a date or date-time in this time zone (2026-07-01 means the beginning of the day), a date-time with a zone (2026-07-01T09:30Z), today, yesterday, or a duration before now such as 30m, 2h, or 7d.',
  options: {
    ...listFlags,
    count: flag('Print only the number of runs'),
    total: toggle('Whether to count the runs that are not listed (default: yes)'),
    agent: text('ID|NAME', 'Only runs of this agent', { complete: 'agents' }),
    status: choice(runStatusFilters, 'Only runs with this status; needs_attention means waiting or failed', { metavar: 'STATUS' }),
    search: text('TEXT', 'Only runs whose title, agent, or ID contains this text'),
    since: dateTime('Only runs created at or after this time'),
    until: dateTime('Only runs created before this time'),
    source: text('WORD', 'Only runs from this source'),
    user: text('ID', 'Only runs that this user started', { check: uuid }),
    queue: text('QUEUE', 'Only runs for cases of this queue, by ID or name', { complete: 'queues' }),
    digest: text('ID', 'Only runs of this digest', { check: uuid }),
    hasIssues: toggle('Only runs whose evaluation found issues, or with --no-has-issues only runs without'),
    issueSeverity: choice(['critical', 'medium', 'low'], 'Only runs with issues of this severity'),
    sortBy: choice(['created_at'], 'Field to sort by', { metavar: 'FIELD' }),
    sortOrder: choice(['asc', 'desc'], 'Sort order (default: desc, newest first)'),
    ...webFlag,
  },
  operations: ['listRuns', 'listAgents', 'listQueues', 'createPageCode'],
  examples: [
    { command: 'aops runs list', text: 'List the 20 newest runs' },
    { command: 'aops runs list --status waiting', text: 'List runs that are waiting for an answer' },
    { command: 'aops runs list --has-issues --since yesterday', text: 'List runs with issues and their severity' },
    { command: 'aops runs list --since yesterday --until today --status failed --count', text: 'Print how many runs failed yesterday' },
    { command: 'aops runs list --agent invoice-check --all -o ndjson', text: 'Print every run of an agent as one JSON object per line' },
    { command: 'aops runs list --agent invoice-check --status failed --web', text: 'Open the failed runs of an agent in a browser' },
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
    empty: 'There are no runs. Start one with `aops runs start --agent AGENT`.',
  }),
  async run(context, input) {
    const { agent, sortOrder, hasIssues, total } = input;
    const now = context.clock.now();
    const [since, until] = [input.since?.iso(now), input.until?.iso(now)];
    if (since !== undefined && until !== undefined && until <= since)
      throw new UsageError(
        `The range ends before it begins: --since is ${since}, but --until is ${until}.`,
        'Durations such as 3d mean a time before now. For the day before the last two days, use --since 3d --until 2d.',
      );
    if (input.web) refuseWithWeb(input, notOnPage);
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
    if (input.web) return openTeamPage(context, pageView('/', pageFilters(filters)));
    const params = { teamId: context.teamId() };
    if (input.count) {
      refuseRows(input);
      return new Count((await client.call('listRuns', { params, query: { ...filters, count_only: 'true' } })).total);
    }
    const counting = total === false ? { include_total: 'false' as const } : {};
    const list = rowList(input, async (limit, offset) => {
      const page = await client.call('listRuns', { params, query: { ...filters, ...counting, limit, offset } });
      return { items: page.data, total: page.total, isUncounted: total === false };
    });
    list.isCounted = total !== false;
    list.isFiltered = Object.keys(filters).some((name) => !name.startsWith('sort_'));
    if (hasIssues !== undefined || input.issueSeverity !== undefined) list.form = 'issues';
    return list;
  },
});
