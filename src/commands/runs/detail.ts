import { formatDuration } from '../../base/duration.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { documentOutput, recordFields } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import type { RunDetail } from '../../interface/types.ts';
import type { Section } from '../../terminal/sheet.ts';
import { agentAndRun } from './agent-run.ts';
import { issuesInWords } from './evaluation-sheet.ts';
import { runRecord } from './record.ts';

export default defineCommand({
  summary: 'Show all details of a run',
  description: '--json includes the latest part of the conversation; `aops runs messages` lists all of it.',
  arguments: { run: runArgument },
  operations: ['getRun', 'getRunDetail'],
  examples: [
    { command: 'aops runs detail @latest', text: 'Show all details of the newest run' },
    { command: 'aops runs detail @latest --json', text: 'Print the details with the conversation' },
  ],
  result: returns('getRunDetail'),
  output: documentOutput<RunDetail>(async (run, view) => {
    const { renderSheet } = await import('../../terminal/sheet.ts');
    return renderSheet(sections(run), view);
  }),
  async run(context, input) {
    const client = await context.client();
    return client.call('getRunDetail', { params: await agentAndRun(context, input.run) });
  },
});

type OpenObject = Record<string, unknown>;

function sections(run: RunDetail): Section[] {
  const { total, included, hasMore } = run.conversationPagination;
  const handover = run.handover ?? undefined;
  const parts: [title: string, fields: OpenObject][] = [
    [
      'Run',
      { ...runRecord(run), Duration: duration(run), Commands: commandsInWords(run), 'Human requests': run.human_in_the_loop_enabled },
    ],
    [
      'Conversation',
      {
        Messages: hasMore ? `${total}, the latest ${included} in --json` : total,
        'Tool calls': hasMore ? undefined : count(run.conversation, 'tool_call'),
        Prompts: run.submitted_prompt_count,
        Resumed: times(run.resume_count),
      },
    ],
    ['Agent', agentInWords(run.agent_session ?? undefined)],
    ['Evaluation', evaluation(run.eval_summaries)],
    ['Handover', handover ?? {}],
    [
      'Integrations',
      Object.fromEntries(run.integrationInstances.map((instance, index) => [instanceName(instance, index), instance.status ?? instance])),
    ],
    [
      'Sessions',
      {
        Browser: run.bb_session_id ?? undefined,
        Computer: run.computer_session_id ?? undefined,
        'Computer use': run.computer_use_slug ?? undefined,
        // The last session, unless it is already listed.
        Last: run.last_session_id === run.bb_session_id ? undefined : (run.last_session_id ?? undefined),
      },
    ],
  ];
  return parts.map(([title, fields]) => ({ title, fields: recordFields(fields) }));
}

/** How far the commands and agents of the run were confined; undefined if it started none. */
const commandsInWords = ({ exec_level }: RunDetail): string | undefined =>
  exec_level === 'contained' ? 'contained' : exec_level === 'host' ? 'as the user of the service, without isolation' : undefined;

/** What the run's agent reports about itself; nothing for a run without one. */
function agentInWords(session: (RunDetail['agent_session'] & object) | undefined): OpenObject {
  if (session === undefined) return {};
  const { name, version, mode, asks, usage } = session;
  const percent = usage === null || usage.context_size === 0 ? undefined : Math.round((100 * usage.context_tokens) / usage.context_size);
  return {
    Name: name,
    Version: version,
    Mode: mode ?? undefined,
    Permissions: asks === null ? undefined : asks ? 'asks before it acts' : 'decides by itself',
    Context: usage === null ? undefined : `${usage.context_tokens} tokens${percent === undefined ? '' : ` (${percent}%)`}`,
    Cost: usage?.cost ? `${usage.cost.amount} ${usage.cost.currency}` : undefined,
  };
}

const times = (number: number): string => (number === 0 ? 'never' : number === 1 ? 'once' : `${number} times`);
const count = (messages: OpenObject[], key: string): number => messages.filter((message) => message[key] !== undefined).length;
const instanceName = (instance: OpenObject, index: number): string =>
  String(instance.name ?? instance.provider ?? instance.id ?? index + 1);

const duration = ({ started_at, completed_at }: RunDetail): string | undefined =>
  started_at === null || completed_at === null ? undefined : formatDuration(Date.parse(completed_at) - Date.parse(started_at));

/** A single evaluation, or one for each name: the interface allows both. */
function evaluation(summaries: OpenObject): OpenObject {
  const { results: _, ...summary } = summaries;
  const entries = 'passed' in summaries ? [['Result', summary] as const] : Object.entries(summaries);
  return Object.fromEntries(entries.map(([name, entry]) => [name, verdict(entry)]));
}

function verdict(summary: unknown): unknown {
  const { passed, total, status, severityCounts, final_comment } = (summary ?? {}) as OpenObject & {
    severityCounts?: Record<string, number>;
  };
  if (typeof passed !== 'number' || typeof total !== 'number') return summary;
  if (status !== undefined && status !== 'ready') return final_comment ? `${status}\n${String(final_comment)}` : status;
  const issues = issuesInWords(severityCounts);
  const figures = `${passed} of ${total} passed${issues === undefined ? '' : ` (${issues})`}`;
  return final_comment ? `${figures}\n${String(final_comment)}` : figures;
}
