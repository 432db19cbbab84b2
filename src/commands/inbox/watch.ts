/** `aops inbox --watch`: the requests of one profile, or of all, as they arrive. */
import { eventWriter } from '../../cli/following/event-writer.ts';
import { outageNotes, readBeforeWatching } from '../../cli/following/outage.ts';
import { type OnUnreadable, pendingRequests, type RequestFilter } from '../../cli/following/pending-requests.ts';
import { isConversation } from '../../cli/kit/audience.ts';
import type { Context } from '../../cli/kit/context.ts';
import { Notifier, type NotifyInput } from '../../cli/notifying/notifier.ts';
import type { Client } from '../../client/client.ts';
import { Pace } from '../../watch/pace.ts';
import { callAtPace, retryThroughOutages } from '../../watch/polling.ts';
import { teamChanges } from '../../watch/stream-changes.ts';
import { type Access, AllProfiles } from './all-profiles.ts';
import { eventLine, type InboxEvent, watchInbox } from './events.ts';
import { type FilterInput, filterOf } from './filter.ts';
import { reminderLine } from './heading.ts';
import { InboxFeed, type Source } from './inbox-feed.ts';
import { type Answering, InboxSession } from './inbox-session.ts';
import { type InboxReading, openInboxReading } from './reading.ts';

type WatchInput = FilterInput & NotifyInput & { allProfiles: boolean; resume: string | undefined };

/** Watches until Ctrl-C. @throws AopsError when watching is no longer possible: for several profiles, when all of them have failed */
export async function watchRequests(context: Context, input: WatchInput, onUnreadable: OnUnreadable): Promise<undefined> {
  const { terminal, clock, signal } = context;
  // Ctrl-C at a prompt ends the command without aborting its signal, so the streams must be ended here.
  const endController = new AbortController();
  const watching: Watching = { input, onUnreadable, signal: AbortSignal.any([signal, endController.signal]) };
  const profiles = input.allProfiles ? new AllProfiles(context) : undefined;
  // What a program resumes is printed, also on a terminal.
  const isInteractive = isConversation(context) && input.resume === undefined;
  const { starts, answering, reading } =
    profiles === undefined ? await ownInbox(context, watching, isInteractive) : allInboxes(profiles, watching);
  const notifier = new Notifier(context, input);
  const print = await printer(context);
  const onEvent = async (event: InboxEvent): Promise<void> => {
    if (!isInteractive) {
      await print(event);
      await reading?.onPrinted(event);
    } else if (event.type === 'human_request.reminder') terminal.note(reminderLine(event.data.human_request, clock.now()));
    notifier.event(event);
  };
  const onFailure = (index: number, error: unknown): unknown =>
    profiles === undefined ? error : profiles.endWatching(profiles.names[index] as string, error);
  let failure: unknown;
  try {
    const feed = new InboxFeed(starts, { onEvent, onFailure, isRefused: profiles?.isRefused });
    if (!isInteractive) return await feed.end();
    return await new InboxSession(context, answering).follow(feed);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    endController.abort();
    reading?.close();
    await notifier.end(failure);
    await profiles?.close();
  }
}

interface Watching {
  input: WatchInput;
  onUnreadable: OnUnreadable;
  signal: AbortSignal;
}

interface Inboxes {
  starts: readonly (() => Promise<Source>)[];
  answering: Answering;
  /** Where a program continues to read; undefined for a person, and for several profiles. */
  reading?: InboxReading | undefined;
}

/** @throws AopsError for an agent, queue, or run that does not exist, before anything is watched; UsageError for an invalid token */
async function ownInbox(context: Context, watching: Watching, isInteractive: boolean): Promise<Inboxes> {
  const { input } = watching;
  const access = { context, client: await context.client() };
  const filter = await readBeforeWatching(context, (reading) => filterOf(reading, input));
  const reading = isInteractive ? undefined : await openInboxReading(context, input.resume, filter(0));
  const source = sourceOf(access, watching, filter, { reading });
  return { starts: [async () => source], answering: { accessOf: () => access }, reading };
}

const allInboxes = (profiles: AllProfiles, watching: Watching): Inboxes => ({
  starts: profiles.names.map((profile) => async () => {
    const access = await profiles.open(profile);
    const filter = await readBeforeWatching(access.context, (reading) => filterOf(reading, watching.input), profile);
    return sourceOf(access, watching, filter, { profile });
  }),
  answering: profiles,
});

interface SourceOptions {
  reading?: InboxReading | undefined;
  /**
   * The name of the profile, if there are several: its requests and events then contain it, and it is read however long an outage
   * lasts, because the others continue.
   */
  profile?: string;
}

/** The requests of one profile. @param filter returns the filter at a time */
function sourceOf(
  { context, client }: Access,
  { onUnreadable, signal }: Watching,
  filter: (now: number) => RequestFilter,
  { reading, profile }: SourceOptions,
): Source {
  const { clock } = context;
  const teamId = context.teamId();
  const pace = new Pace(clock);
  const polling = { call: callAtPace(client, pace, signal) } as Pick<Client, 'call'>;
  const read = async () => {
    const requests = await pendingRequests(polling, teamId, filter(clock.now()), onUnreadable);
    return requests.map((request) => ({ ...request, profile }));
  };
  const load = retryThroughOutages(read, {
    clock,
    signal,
    onOutage: outageNotes(context, profile),
    ...(profile === undefined ? {} : { waitsIndefinitely: () => true }),
  });
  teamChanges(client, teamId, { clock, signal }).hurry(pace);
  const resumption = reading === undefined ? {} : { tokenAfter: reading.tokenAfter, ...(reading.start && { start: reading.start }) };
  return { origin: client.baseUrl, load, watch: (load) => watchInbox(load, { clock, signal, pace, client, profile, ...resumption }) };
}

async function printer(context: Context): Promise<(event: InboxEvent) => Promise<void>> {
  const { terminal, clock, format } = context;
  if (format === 'ndjson') return eventWriter(context);
  const view = { tty: terminal.out.isTTY, width: terminal.out.columns, now: clock.now() };
  return (event) => terminal.line(eventLine(event, view));
}
