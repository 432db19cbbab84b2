import { shellWord } from '../../base/shell.ts';
import { openTeamPage, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput, status, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ifOffered } from '../../cli/kit/secondary-requests.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { type AgentProgram, agentProgram, runtimeOf } from '../../cli/records/revision.ts';
import type { Client } from '../../client/client.ts';
import { pagedRows } from '../../client/paging.ts';
import type { Agent, Build, CaseTrigger, MemoryFile, Rubric, RunListItem, Schedule } from '../../interface/types.ts';
import { agentRecord } from './record.ts';
import { nextOf } from './schedules/record.ts';

/** A revision without its configuration. */
interface RevisionInShort {
  id: string;
  revision_number: number | null;
  status: string | null;
  name: string;
  runtime: string | null;
}

/** An agent with its related resources; those that the service does not offer are omitted. */
interface AgentDetails extends Agent {
  pinned_at: string | null;
  live_revision?: RevisionInShort | null;
  latest_revision?: RevisionInShort | null;
  /** What the live revision runs, or the latest if none is live; null unless it is a program. */
  program?: AgentProgram | null;
  case_triggers?: CaseTrigger[];
  schedules?: Schedule[];
  rubrics?: Rubric[];
  memory_files?: MemoryFile[];
  latest_run?: { id: string; status: string; created_at: string | null } | null;
}

const revisionShape = { id: 'uuid', revision_number: 'integer', status: 'string', name: 'string', runtime: 'string|null' } as const;

export default defineCommand({
  summary: 'Show an agent and its related resources',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: webFlag,
  operations: [
    'listAgents',
    'getAgent',
    'listAgentRevisions',
    'listAgentCaseTriggers',
    'listAgentSchedules',
    'getEvalRubrics',
    'listAgentMemoryFiles',
    'listRuns',
    'createPageCode',
  ],
  examples: [
    { command: 'aops agents get invoice-check', text: 'Show an agent' },
    { command: "aops agents get invoice-check --jq '.schedules[].next_run_at'", text: 'Print the next times of its schedules' },
    { command: 'aops agents get invoice-check --jq .live_revision.revision_number', text: 'Print the number of its live revision' },
  ],
  result: returns('getAgent.agent', {
    pinned_at: 'date-time|null',
    live_revision: revisionShape,
    latest_revision: revisionShape,
    program: {
      ...{ acp: 'string|null', command: 'string[]|null', mode: 'string|null', skills: 'string[]' },
      ...{ environment: 'string[]', secrets: 'string[]', network: 'string[]', files: 'string[]' },
    },
    case_triggers: [{ id: 'string', case_queue_id: 'uuid', case_queue_name: 'string', enabled: 'boolean' }],
    schedules: 'object[]?',
    rubrics: 'object[]?',
    memory_files: 'object[]?',
    latest_run: { id: 'uuid', status: 'string', created_at: 'date-time|null' },
  }),
  output: recordOutput<AgentDetails>((agent) => ({
    ...agentRecord(agent),
    Pinned: agent.pinned_at === null ? undefined : time(agent.pinned_at),
    Revision: revisionsInWords(agent),
    Runtime: (agent.live_revision ?? agent.latest_revision)?.runtime ?? undefined,
    Program: agent.program?.acp ?? agent.program?.command?.map(shellWord).join(' '),
    Mode: agent.program?.mode ?? undefined,
    Skills: agent.program?.skills.join(', ') || undefined,
    Variables: agent.program?.environment.join(', ') || undefined,
    Secrets: agent.program?.secrets.join(', ') || undefined,
    'Allowed hosts': agent.program?.network.join(', ') || undefined,
    'Allowed paths': agent.program?.files.join(', ') || undefined,
    Queue: agent.case_triggers?.map(triggerInWords).join(', ') || undefined,
    Schedules: agent.schedules?.length || undefined,
    'Next run': nextRun(agent.schedules),
    Rubrics: agent.rubrics?.length || undefined,
    'Memory files': agent.memory_files?.length || undefined,
    'Last run': agent.latest_run ? time(agent.latest_run.created_at) : undefined,
    'Last run ID': agent.latest_run?.id,
    'Last run status': agent.latest_run ? status(agent.latest_run.status) : undefined,
  })),
  async run(context, input) {
    const client = await context.client();
    const id = await agentId(context, input.agent);
    if (input.web) return openTeamPage(context, `/agents/${id}`);
    const params = { agent_id: id };
    const [{ agent, user_context }, revisions, triggers, schedules, rubrics, memory, runs] = await Promise.all([
      client.call('getAgent', { params }),
      ifOffered(readRevisions(client, id)),
      ifOffered(client.call('listAgentCaseTriggers', { params })),
      ifOffered(client.call('listAgentSchedules', { params })),
      ifOffered(client.call('getEvalRubrics', { params: { agentId: id } })),
      ifOffered(client.call('listAgentMemoryFiles', { params })),
      ifOffered(client.call('listRuns', { params: { teamId: context.teamId() }, query: { agent_id: id, limit: 1 } })),
    ]);
    return {
      ...agent,
      pinned_at: user_context.pinned_at,
      ...revisions,
      ...(triggers === undefined ? {} : { case_triggers: triggers.case_triggers }),
      ...(schedules === undefined ? {} : { schedules: schedules.schedules }),
      ...(rubrics === undefined ? {} : { rubrics: rubrics.rubrics }),
      ...(memory === undefined ? {} : { memory_files: memory.files }),
      ...(runs === undefined ? {} : { latest_run: runInShort(runs.data[0]) }),
    };
  },
});

/** Reads revisions, newest first, until the live one is found. */
async function readRevisions(
  client: Client,
  agent_id: string,
): Promise<Pick<AgentDetails, 'live_revision' | 'latest_revision' | 'program'>> {
  let latest: Build | undefined;
  const revisions = pagedRows(async (limit, offset) => {
    const { builds, total } = await client.call('listAgentRevisions', { params: { agent_id }, query: { limit, offset } });
    return { items: builds, total };
  }, 100);
  for await (const revision of revisions) {
    latest ??= revision;
    if (revision.status !== 'live') continue;
    const program = (await agentProgram(revision.config)) ?? null;
    return { live_revision: revisionSummary(revision), latest_revision: revisionSummary(latest), program };
  }
  return { live_revision: null, latest_revision: revisionSummary(latest), program: (await agentProgram(latest?.config)) ?? null };
}

const revisionSummary = (build: Build | undefined): RevisionInShort | null =>
  build === undefined
    ? null
    : {
        id: build.id,
        revision_number: build.revision_number,
        status: build.status,
        name: build.revision_name ?? build.name,
        runtime: runtimeOf(build.config) ?? null,
      };

const runInShort = (run: RunListItem | undefined): AgentDetails['latest_run'] =>
  run === undefined ? null : { id: run.id, status: run.status, created_at: run.created_at };

/** `2 (live); 3 is a draft` */
function revisionsInWords({ live_revision: live, latest_revision: latest }: AgentDetails): string | undefined {
  if (!latest) return undefined;
  const number = latest.revision_number ?? latest.id;
  if (!live) return `none is live; ${number} is a ${latest.status}`;
  return `${live.revision_number ?? live.id} (live)${live.id === latest.id ? '' : `; ${number} is a ${latest.status}`}`;
}

const triggerInWords = ({ case_queue_name: queue, enabled }: CaseTrigger): string => (enabled ? queue : `${queue} (off)`);

function nextRun(schedules: readonly Schedule[] = []): unknown {
  const next = nextOf(schedules);
  return next === undefined ? undefined : time(next);
}
