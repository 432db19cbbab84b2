import { UsageError } from '../../base/errors.ts';
import { openTeamPage, pageView, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { checkEventForm } from '../../cli/following/event-writer.ts';
import { type OnUnreadable, type PendingRequest, pendingRequests } from '../../cli/following/pending-requests.ts';
import { resumeFlag } from '../../cli/following/resume-source.ts';
import { forPeople, isConversation } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag } from '../../cli/kit/flags.ts';
import { type RowList, wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, timeColumn, wideViewForIds } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { runWord } from '../../cli/names/run-names.ts';
import { type NotifyInput, notifyFlags, requireWatch } from '../../cli/notifying/notifier.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Column } from '../../terminal/table.ts';
import { type Access, AllProfiles } from './all-profiles.ts';
import { type FilterInput, filterFlags, filterOf, pageFilters } from './filter.ts';
import type { Load } from './inbox-feed.ts';
import { InboxSession } from './inbox-session.ts';
import { watchRequests } from './watch.ts';

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
    'Shows all pending human requests of the team, oldest first. On a terminal, you pick a request, answer it, and continue with the next; --no-input only lists them. With --watch, new requests are prompted for as they arrive. Without a terminal, and with -o ndjson, an event is printed when a request arrives and when it is resolved. With --all-profiles, the requests of all profiles are shown together, and each is answered with its own profile; a profile that cannot be read is reported, and the others are still shown or watched.',
  options: {
    ...filterFlags,
    watch: flag('Keep watching for new requests, until Ctrl-C', { aliases: ['follow'] }),
    allProfiles: flag('Show the requests of all profiles'),
    ...notifyFlags,
    resume: resumeFlag,
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
    { command: 'aops inbox --all-profiles --watch --notify', text: 'Be notified of each new request of all services and teams' },
    { command: "aops inbox --json --jq '.data[] | [.run_id, .title] | @tsv'", text: 'Print pending requests in a script' },
    { command: 'aops inbox --watch -o ndjson', text: 'Stream requests to a program' },
    { command: 'aops inbox --watch -o ndjson --resume auto', text: 'Continue after the last event that was printed' },
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
    forms: { profiles: [column('PROFILE', (request) => request.profile as string), ...columns] },
    empty,
  }),
  async run(context, input) {
    refuseCombinations(context, input);
    if (input.web) return openTeamPage(context, pageView('/inbox', await pageFilters(context, input)));
    const { format } = context;
    if (input.watch && !forPeople(context) && format !== 'ndjson')
      throw new UsageError('--watch prints a stream of events, which only -o ndjson prints for programs.', 'Add -o ndjson.');
    if (input.watch) await checkEventForm(context, { fields: ['run_id'], resume: input.resume });
    else requireWatch(input);
    if (!input.watch && input.resume !== undefined) throw new UsageError('--resume requires --watch.');
    const onUnreadable = warnOnce(context);
    if (input.watch) return watchRequests(context, input, onUnreadable);
    if (input.allProfiles) return inboxOfAllProfiles(context, input, onUnreadable);
    const client = await context.client();
    const filter = await filterOf(context, input);
    const load: Load = () => pendingRequests(client, context.teamId(), filter(context.clock.now()), onUnreadable);
    if (!isConversation(context)) return profileList(context, await load());
    await new InboxSession(context, { accessOf: () => ({ context, client }) }).pick(load, empty);
    return undefined;
  },
});

/** The list of one profile. */
const profileList = (context: Context, requests: readonly PendingRequest[]): RowList<PendingRequest> => {
  const profile = context.config().profile.value ?? null;
  return wholeList(requests.map((request) => ({ ...request, profile })));
};

/** @throws ResultError with the requests of the others if a profile cannot be read */
async function inboxOfAllProfiles(
  context: Context,
  input: FilterInput,
  onUnreadable: OnUnreadable,
): Promise<RowList<PendingRequest> | undefined> {
  const { clock } = context;
  const profiles = new AllProfiles(context);
  const read = async ({ context, client }: Access): Promise<PendingRequest[]> => {
    const filter = await filterOf(context, input);
    return pendingRequests(client, context.teamId(), filter(clock.now()), onUnreadable);
  };
  const load: Load = () => profiles.load(read);
  try {
    if (isConversation(context)) {
      await new InboxSession(context, profiles).pick(load, empty);
      return undefined;
    }
    const list = wholeList(await load());
    list.form = 'profiles';
    if (profiles.error) throw new ResultError(profiles.error, list);
    return list;
  } finally {
    await profiles.close();
  }
}

/** @throws UsageError for two flags of which one would have no effect */
function refuseCombinations(
  { flags }: Context,
  input: FilterInput & Record<'web' | 'watch' | 'allProfiles', boolean> & NotifyInput & { resume: string | undefined },
): void {
  if (input.web) refuseWithWeb(input, notOnPage);
  if (!input.allProfiles) return;
  const reasons = {
    '--run': [input.run.length > 0, 'a run belongs to one team'],
    '--resume': [input.resume, 'each profile has its own position'],
    '--profile': [flags.profile, 'all profiles are read'],
    '--team': [flags.team, 'each profile has its own team'],
    '--base-url': [flags.baseUrl, 'each profile has its own service'],
  } as const;
  for (const [flag, [value, reason]] of Object.entries(reasons))
    if (value) throw new UsageError(`--all-profiles and ${flag} cannot be combined: ${reason}.`);
}

const notOnPage = {
  allProfiles: 'the page shows the requests of one team',
  watch: 'the page is always up to date',
  resume: 'the page always shows what is pending',
  notify: 'the page has notifications of its own',
  exec: 'the page runs no commands',
} as const;

/** Warns about each run that cannot be read, but only once. */
function warnOnce({ terminal }: Context): OnUnreadable {
  const warned = new Set<string>();
  return (runId, error) => {
    if (warned.has(runId)) return;
    warned.add(runId);
    terminal.warn(`Run ${sanitizeLine(runId)} is waiting for an answer, but its request cannot be read: ${sanitizeLine(error.message)}`);
  };
}
