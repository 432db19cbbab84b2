/** A person answering requests at the terminal one by one, until none are left or the person stops. */

import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { suggestionsWithSelection } from '../../cli/connect/selection.ts';
import { type AnswerOutcome, answerHere } from '../../cli/following/answer-here.ts';
import type { PendingRequest } from '../../cli/following/pending-requests.ts';
import { recentSteps } from '../../cli/following/recent-steps.ts';
import type { Context } from '../../cli/kit/context.ts';
import { runTitle } from '../../cli/names/run-names.ts';
import { PromptCancelled } from '../../terminal/prompts.ts';
import { relativeTime } from '../../terminal/relative-time.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Access } from './all-profiles.ts';
import { heading, type Place } from './heading.ts';
import { type InboxFeed, type Load, requestKey } from './inbox-feed.ts';

/** With what requests are answered. */
export interface Answering {
  accessOf: (request: PendingRequest) => Access;
  /** Called when the service says that this access may not answer. From then on, another one that may have the request is preferred. */
  refuse?: (request: PendingRequest) => void;
}

export class InboxSession {
  readonly #context: Context;
  readonly #answering: Answering;
  /** Requests that the person chose to leave pending. */
  readonly #leftPending = new Set<string>();
  /** Requests that could not be answered, each with its profile: another one may be able to. */
  readonly #failed = new Set<string>();
  /** Requests that are no longer pending; the last poll might still list them. */
  readonly #resolved = new Set<string>();
  #answeredCount = 0;

  constructor(context: Context, answering: Answering) {
    this.#context = context;
    this.#answering = answering;
  }

  /** Lets the person pick the requests to answer. */
  async pick(load: Load, empty: string): Promise<void> {
    // Whether the list replaces a prompt that someone else resolved.
    let isReplacement = false;
    for (;;) {
      const open = await load();
      if (open.length === 0)
        return this.#end(this.#answeredCount === 0 ? empty : `Answered ${this.#answeredCount}; nothing else is pending.`);
      const selectedRequest = await this.#choose(open, isReplacement);
      if (selectedRequest === undefined) return this.#end(`Answered ${this.#answeredCount}; ${open.length} still pending.`);
      isReplacement = (await this.#answer(selectedRequest, open)) === 'gone';
    }
  }

  /** Prompts for each request as it arrives, oldest first, until Ctrl-C. */
  async follow(feed: InboxFeed): Promise<never> {
    const { terminal, signal } = this.#context;
    const { statusLine } = await import('../../terminal/progress.ts');
    const line = await statusLine(terminal);
    line?.start(() => `Waiting for requests  ${this.#answeredCount} answered`);
    try {
      for (;;) {
        const open = feed.pending.filter((request) => !this.#resolved.has(this.#keyOf(request)));
        const nextRequest = open.find((request) => !this.#isDealtWith(request));
        if (nextRequest === undefined) {
          await feed.nextPoll();
          continue;
        }
        line?.hide();
        await this.#answer(nextRequest, open);
        line?.show();
      }
    } catch (error) {
      line?.stop();
      if (error === signal.reason || error instanceof PromptCancelled) this.#summarise(feed);
      throw error;
    }
  }

  /** What is left to do, for the person who ends a watch. */
  #summarise(feed: InboxFeed): void {
    const open = feed.lastPending.filter((request) => !this.#resolved.has(this.#keyOf(request)));
    const rest =
      open.length === 0
        ? 'nothing else is pending.'
        : `${open.length} still pending. Answer them with: aops inbox${open.some(({ profile }) => profile) ? ' --all-profiles' : ''}`;
    this.#end(`Answered ${this.#answeredCount}; ${rest}`);
  }

  #end(text: string): void {
    this.#context.terminal.note(text);
  }

  async #choose(open: readonly PendingRequest[], unsolicited: boolean): Promise<PendingRequest | undefined> {
    const { prompter, clock, signal } = this.#context;
    const choices = open.map((request) => ({
      name: `${relativeTime(new Date(request.created_at), clock.now())}  ${request.profile ? `${request.profile}  ` : ''}${request.agent_name}  ${request.title}`,
      value: this.#keyOf(request),
      description: `${request.run_title}  (run ${runTitle({ id: request.run_id, run_number: request.run_number })})`,
    }));
    const done = { name: 'Done', value: '' };
    const first = open.find((request) => !this.#isDealtWith(request));
    const message = `${pluralize(open.length, 'request is', 'requests are')} waiting for an answer`;
    const initial = first === undefined ? done.value : this.#keyOf(first);
    const key = await prompter.select({ message, choices: [...choices, done], initial }, { signal, unsolicited });
    return open.find((request) => this.#keyOf(request) === key);
  }

  /** Prompts for one request. The prompt disappears if someone else answers first. */
  async #answer(request: PendingRequest, open: readonly PendingRequest[]): Promise<AnswerOutcome> {
    const { terminal, clock } = this.#context;
    const { bold } = await terminal.err.styles();
    const { context, client } = this.#answering.accessOf(request);
    let outcome: AnswerOutcome;
    try {
      const steps = await recentSteps(context, client, request.run_id);
      terminal.note([bold(heading(request, this.#placeOf(request, open), clock.now())), ...steps].join('\n'));
      outcome = await answerHere(context, client, request.run_id, request);
    } catch (error) {
      this.#reportFailure(request, error);
      return 'left';
    }
    if (outcome === 'answered') {
      this.#answeredCount += 1;
      if (request.profile) terminal.note(`Answered with the profile "${request.profile}".`);
    }
    if (outcome === 'left') {
      this.#leftPending.add(this.#keyOf(request));
      terminal.note(`Left pending: ${sanitizeLine(request.title)}`);
    } else this.#resolved.add(this.#keyOf(request));
    if (outcome === 'gone') terminal.note('The request is no longer pending: someone else answered it, or the run was stopped.');
    return outcome;
  }

  /** With several profiles, the failure of one does not end the session. @throws the error otherwise */
  #reportFailure(request: PendingRequest, error: unknown): void {
    const { terminal, signal } = this.#context;
    const { profile, title } = request;
    if (!profile || !(error instanceof AopsError) || error instanceof PromptCancelled || signal.aborted) throw error;
    terminal.warn(sanitizeLine(`Profile "${profile}": ${error.message}`));
    if (error.hint !== undefined) terminal.warn(sanitizeLine(suggestionsWithSelection(error.hint, { profile })));
    terminal.warn(sanitizeLine(`Not answered here: ${title}`));
    this.#failed.add(this.#accessKeyOf(request));
    if (error.exit === exitCodes.forbidden) this.#answering.refuse?.(request);
  }

  /** The position among all requests of this session: those that are dealt with come first. */
  #placeOf(request: PendingRequest, open: readonly PendingRequest[]): Place {
    const isDealtWith = (other: PendingRequest): boolean => this.#isDealtWith(other) && this.#keyOf(other) !== this.#keyOf(request);
    const dealtWithCount = this.#resolved.size + open.filter(isDealtWith).length;
    return { position: dealtWithCount + 1, total: this.#resolved.size + open.length };
  }

  /** Whether the person left the request pending, or could not answer it. */
  #isDealtWith = (request: PendingRequest): boolean =>
    this.#leftPending.has(this.#keyOf(request)) || this.#failed.has(this.#accessKeyOf(request));

  #accessKeyOf(request: PendingRequest): string {
    return `${request.profile ?? ''} ${this.#keyOf(request)}`;
  }

  #keyOf(request: PendingRequest): string {
    return requestKey(this.#answering.accessOf(request).client.baseUrl, request.id);
  }
}
