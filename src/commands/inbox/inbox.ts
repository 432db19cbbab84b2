import { UsageError } from '../../base/errors.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { type OnUnreadable, type PendingRequest, pendingRequests } from '../../cli/following/pending.ts';
import { forPeople } from '../../cli/kit/audience.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, timeColumn, wideViewForIds } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { runWord } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import { Pace } from '../../watch/pace.ts';
import { callAtPace, retryThroughOutages } from '../../watch/polling.ts';
import { teamChanges } from '../../watch/stream-changes.ts';
import { eventLine, watchInbox } from './events.ts';
import { InboxSession, type Load } from './inbox-session.ts';

const empty = 'Nothing is waiting for an answer.';

export default defineCommand({
  summary: 'List and answer pending human requests',
  description:
    'Shows all pending human requests of the team, oldest first. On a terminal, you pick a request, answer it and continue with the next; --no-input only lists them. With --watch, new requests are prompted for as they arrive. Without a terminal, and with -o ndjson, an event is printed when a request arrives and when it is resolved.',
  options: {
    agent: text('ID|NAME', 'Only requests of this agent', { complete: 'agents' }),
    watch: flag('Keep watching for new requests, until Ctrl-C', { aliases: ['follow'] }),
  },
  operations: ['listRuns', 'streamTeamEvents', 'getRun', 'streamRunEvents', 'respondToHumanRequest', 'listAgents'],
  examples: [
    { command: 'aops inbox', text: 'Answer pending requests' },
    { command: "aops inbox --json --jq '.data[] | [.run_id, .title] | @tsv'", text: 'Print pending requests in a script' },
    { command: 'aops inbox --watch -o ndjson', text: 'Stream requests to a program' },
  ],
  result: returns('getRun.pending_human_request', {
    run_id: 'uuid',
    run_title: 'string',
    run_number: 'integer|null',
    agent_id: 'uuid|null',
    agent_name: 'string',
  }),
  output: listOutput<PendingRequest>({
    columns: [
      column('RUN', ({ run_id: id, run_number }) => runWord({ id, run_number })),
      timeColumn('ASKED', (request) => request.created_at),
      column('AGENT', (request) => request.agent_name, { shrink: true }),
      column('REQUEST', (request) => request.title, { shrink: true }),
      column('TYPE', (request) => request.type),
      column('RUN ID', (request) => request.run_id, { minViewWidth: wideViewForIds }),
    ],
    empty,
  }),
  async run(context, input) {
    const { format, flags, terminal } = context;
    const plain = forPeople(context);
    if (input.watch && !plain && (format !== 'ndjson' || flags.fields !== undefined || flags.jq !== undefined))
      throw new UsageError(
        '--watch prints a stream of events, which this output format does not support.',
        'Use -o ndjson without --fields and --jq.',
      );
    const client = await context.client();
    const findAgent = async (reading: Context) => (input.agent === undefined ? undefined : agentId(reading, input.agent));
    const agent = input.watch ? await readBeforeWatching(context, findAgent) : await findAgent(context);
    const { clock, signal } = context;
    const teamId = context.teamId();
    const onUnreadable = warnOnce(context);
    const isInteractive = plain && terminal.interactive && terminal.out.isTTY;
    if (!input.watch) {
      const once: Load = () => pendingRequests(client, teamId, agent, onUnreadable);
      return isInteractive ? new InboxSession(context, client, once).pick(empty).then(() => undefined) : wholeList(await once());
    }
    const pace = new Pace(clock);
    const polling = { call: callAtPace(client, pace, signal) } as Pick<Client, 'call'>;
    const load = retryThroughOutages(() => pendingRequests(polling, teamId, agent, onUnreadable), {
      clock,
      signal,
      onOutage: outageNotes(context),
    });
    // Ctrl-C at a prompt ends the command without aborting its signal, so the stream must be ended here.
    const endController = new AbortController();
    teamChanges(client, teamId, { clock, signal: AbortSignal.any([signal, endController.signal]) }).hurry(pace);
    try {
      return await (isInteractive ? new InboxSession(context, client, load).follow(pace) : printEvents(context, load, pace));
    } finally {
      endController.abort();
    }
  },
});

/** Warns about each run that cannot be read, but only once. */
function warnOnce({ terminal }: Context): OnUnreadable {
  const warned = new Set<string>();
  return (runId, error) => {
    if (warned.has(runId)) return;
    warned.add(runId);
    terminal.warn(`Run ${runId} is waiting for an answer, but its request cannot be read: ${error.message}`);
  };
}

async function printEvents(context: Context, load: Load, pace: Pace): Promise<undefined> {
  const { terminal, clock, signal, format } = context;
  const view = { tty: terminal.out.isTTY, width: terminal.out.columns, now: clock.now() };
  for await (const event of watchInbox(load, { clock, signal, pace })) {
    if (format === 'ndjson') await terminal.json(event);
    else await terminal.line(eventLine(event, view));
  }
}
