import { parseDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import { openTeamPage, webFlag } from '../../cli/desktop/team-page.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { type OnUnreadable, type PendingRequest, pendingRequests, type RequestFilter } from '../../cli/following/pending.ts';
import { forPeople, isShaped } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, duration, flag, text, texts } from '../../cli/kit/flags.ts';
import { type RowList, wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, timeColumn, wideViewForIds } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { agentId, queueId } from '../../cli/names/resolve.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { runWord } from '../../cli/names/run-names.ts';
import { Notifier, type NotifyInput, notifyFlags, requireWatch } from '../../cli/notifying/notifier.ts';
import type { Client } from '../../client/client.ts';
import type { HumanRequest } from '../../interface/types.ts';
import type { Column } from '../../terminal/table.ts';
import { Pace } from '../../watch/pace.ts';
import { callAtPace, retryThroughOutages } from '../../watch/polling.ts';
import { teamChanges } from '../../watch/stream-changes.ts';
import { AllProfiles } from './all-profiles.ts';
import { eventLine, type InboxEvent, watchInbox } from './events.ts';
import { reminderLine } from './heading.ts';
import { InboxFeed, type Load } from './inbox-feed.ts';
import { InboxSession } from './inbox-session.ts';

const empty = 'Nothing is waiting for an answer.';

const columns: Column<PendingRequest>[] = [
  column('RUN', ({ run_id: id, run_number }) => runWord({ id, run_number })),
  timeColumn('ASKED', (request) => request.created_at),
  column('AGENT', (request) => request.agent_name, { shrink: true }),
  column('REQUEST', (request) => request.title, { shrink: true }),
  column('TYPE', (request) => request.type),
  column('RUN ID', (request) => request.run_id, { minViewWidth: wideViewForIds }),
];

export default defineCommand({
  summary: 'List and answer pending human requests',
  description:
    'Shows all pending human requests of the team, oldest first. On a terminal, you pick a request, answer it and continue with the next; --no-input only lists them. With --watch, new requests are prompted for as they arrive. Without a terminal, and with -o ndjson, an event is printed when a request arrives and when it is resolved. With --all-profiles, the requests of all profiles are shown together, and each is answered with its own profile; a profile that cannot be read is reported.',
  options: {
    agent: text('ID|NAME', 'Only requests of this agent', { complete: 'agents' }),
    queue: text('ID|NAME', 'Only requests of runs for cases of this queue', { complete: 'queues' }),
    run: texts('RUN', 'Only requests of this run, by number, ID or @latest; can be repeated', { complete: 'runs' }),
    type: choice(['approval', 'question'], 'Only requests of this type'),
    olderThan: duration('Only requests that have been waiting for at least this long'),
    watch: flag('Keep watching for new requests, until Ctrl-C', { aliases: ['follow'] }),
    allProfiles: flag('Show the requests of all profiles'),
    ...notifyFlags,
    ...webFlag,
  },
  operations: [
    'listRuns',
    'streamTeamEvents',
    'getRun',
    'listRunMessages',
    'streamRunEvents',
    'respondToHumanRequest',
    'listAgents',
    'listQueues',
    'createPageCode',
  ],
  examples: [
    { command: 'aops inbox', text: 'Answer pending requests' },
    { command: 'aops inbox --type approval --older-than 1h', text: 'Answer the approvals that have been waiting for an hour' },
    { command: 'aops inbox --all-profiles', text: 'Answer the requests of all services and teams' },
    { command: 'aops inbox --watch --notify', text: 'Be notified of each new request' },
    { command: "aops inbox --json --jq '.data[] | [.run_id, .title] | @tsv'", text: 'Print pending requests in a script' },
    { command: 'aops inbox --watch -o ndjson', text: 'Stream requests to a program' },
  ],
  result: returns('getRun.pending_human_request', {
    run_id: 'uuid',
    run_title: 'string',
    run_number: 'integer|null',
    agent_id: 'uuid|null',
    agent_name: 'string',
    profile: 'string|null',
  }),
  output: listOutput<PendingRequest>({
    columns,
    forms: { profiles: [column('PROFILE', (request) => request.profile ?? ''), ...columns] },
    empty,
  }),
  async run(context, input) {
    refuseCombinations(context, input);
    if (input.web) return openTeamPage(context, '/inbox');
    const { format, terminal } = context;
    const plain = forPeople(context);
    if (input.watch && !plain && (format !== 'ndjson' || isShaped(context)))
      throw new UsageError(
        '--watch prints a stream of events, which this output format does not support.',
        'Use -o ndjson without --fields, --jq, and --template.',
      );
    if (!input.watch) requireWatch(input);
    if (input.allProfiles) return inboxOfAllProfiles(context, input);
    const client = await context.client();
    const filter = await (input.watch ? readBeforeWatching(context, (reading) => filterOf(reading, input)) : filterOf(context, input));
    const { clock, signal } = context;
    const teamId = context.teamId();
    const onUnreadable = warnOnce(context);
    const isInteractive = plain && terminal.interactive && terminal.out.isTTY;
    if (!input.watch) {
      const once: Load = () => pendingRequests(client, teamId, filter(clock.now()), onUnreadable);
      return isInteractive
        ? new InboxSession(context, () => ({ context, client })).pick(once, empty).then(() => undefined)
        : ownList(context, await once());
    }
    const pace = new Pace(clock);
    const polling = { call: callAtPace(client, pace, signal) } as Pick<Client, 'call'>;
    const load = retryThroughOutages(() => pendingRequests(polling, teamId, filter(clock.now()), onUnreadable), {
      clock,
      signal,
      onOutage: outageNotes(context),
    });
    // Ctrl-C at a prompt ends the command without aborting its signal, so the stream must be ended here.
    const endController = new AbortController();
    const watchSignal = AbortSignal.any([signal, endController.signal]);
    teamChanges(client, teamId, { clock, signal: watchSignal }).hurry(pace);
    const watch = (load: Load) => watchInbox(load, { clock, signal: watchSignal, pace, client });
    const notifier = new Notifier(context, input);
    let failure: unknown;
    try {
      if (!isInteractive) return await printEvents(context, watch(load), notifier);
      const onEvent = (event: InboxEvent): void => {
        notifier.event(event);
        if (event.type === 'human_request.reminder') terminal.note(reminderLine(event.data.human_request, clock.now()));
      };
      return await new InboxSession(context, () => ({ context, client })).follow(new InboxFeed(load, watch, onEvent));
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      endController.abort();
      await notifier.end(failure);
    }
  },
});

/** The list of one profile. */
const ownList = (context: Context, requests: readonly PendingRequest[]): RowList<PendingRequest> => {
  const profile = context.config().profile.value ?? null;
  return wholeList(requests.map((request) => ({ ...request, profile })));
};

/** @throws ResultError with the requests of the others if a profile cannot be read */
async function inboxOfAllProfiles(context: Context, input: FilterInput): Promise<RowList<PendingRequest> | undefined> {
  const { terminal, clock } = context;
  const onUnreadable = warnOnce(context);
  const profiles = new AllProfiles(context, async ({ context, client }) => {
    const filter = await filterOf(context, input);
    return pendingRequests(client, context.teamId(), filter(clock.now()), onUnreadable);
  });
  try {
    if (forPeople(context) && terminal.interactive && terminal.out.isTTY) {
      await new InboxSession(context, profiles.accessOf).pick(profiles.load, empty);
      return undefined;
    }
    const list = wholeList(await profiles.load());
    list.form = 'profiles';
    if (profiles.error) throw new ResultError(profiles.error, list);
    return list;
  } finally {
    await profiles.close();
  }
}

/** @throws UsageError for two flags of which one would have no effect */
function refuseCombinations({ flags }: Context, input: FilterInput & Record<'web' | 'watch' | 'allProfiles', boolean> & NotifyInput): void {
  const { watch, notify, exec, run, agent, queue, type, olderThan } = input;
  const watching = { '--watch': watch, '--notify': notify, '--exec': exec !== undefined };
  const runs = { '--run': run.length > 0 };
  const filters = { ...runs, '--agent': agent, '--queue': queue, '--type': type, '--older-than': olderThan };
  const connection = { '--profile': flags.profile, '--team': flags.team, '--base-url': flags.baseUrl };
  // The page shows all requests of one team.
  if (input.web) refuse('--web', { '--all-profiles': input.allProfiles, ...watching, ...filters });
  if (input.allProfiles) refuse('--all-profiles', { ...watching, ...runs, ...connection });
}

function refuse(flag: string, others: Record<string, unknown>): void {
  const [other] = Object.entries(others).find(([, value]) => value) ?? [];
  if (other !== undefined) throw new UsageError(`${flag} and ${other} cannot be combined.`);
}

interface FilterInput {
  agent: string | undefined;
  queue: string | undefined;
  run: string[];
  type: HumanRequest['type'] | undefined;
  olderThan: string | undefined;
}

/** The filter that the options name, at a time. @throws AopsError for an agent, queue, or run that does not exist */
async function filterOf(context: Context, { agent, queue, run, type, olderThan }: FilterInput): Promise<(now: number) => RequestFilter> {
  const filter = {
    agentId: agent === undefined ? undefined : await agentId(context, agent),
    queueId: queue === undefined ? undefined : await queueId(context, queue),
    runIds: run.length === 0 ? undefined : await Promise.all(run.map((name) => runId(context, name))),
    type,
  };
  const age = olderThan === undefined ? undefined : parseDuration(olderThan);
  return (now) => ({ ...filter, until: age === undefined ? undefined : now - age });
}

/** Warns about each run that cannot be read, but only once. */
function warnOnce({ terminal }: Context): OnUnreadable {
  const warned = new Set<string>();
  return (runId, error) => {
    if (warned.has(runId)) return;
    warned.add(runId);
    terminal.warn(`Run ${runId} is waiting for an answer, but its request cannot be read: ${error.message}`);
  };
}

async function printEvents(context: Context, events: AsyncIterable<InboxEvent>, notifier: Notifier): Promise<undefined> {
  const { terminal, clock, format } = context;
  const view = { tty: terminal.out.isTTY, width: terminal.out.columns, now: clock.now() };
  for await (const event of events) {
    if (format === 'ndjson') await terminal.json(event);
    else await terminal.line(eventLine(event, view));
    notifier.event(event);
  }
}
