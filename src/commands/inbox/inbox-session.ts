/** A person answering requests at the terminal one by one, until none are left or the person stops. */

import { pluralize } from '../../base/pluralize.ts';
import { type AnswerOutcome, answerHere } from '../../cli/following/answer-here.ts';
import type { PendingRequest } from '../../cli/following/pending.ts';
import type { Context } from '../../cli/kit/context.ts';
import { runTitle } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import { relativeTime } from '../../terminal/relative-time.ts';
import type { Pace } from '../../watch/pace.ts';

export type Load = () => Promise<PendingRequest[]>;

export class InboxSession {
  readonly #context: Context;
  readonly #client: Client;
  readonly #load: Load;
  /** Requests that the person chose to leave pending. */
  readonly #leftPendingIds = new Set<string>();
  #answeredCount = 0;

  constructor(context: Context, client: Client, load: Load) {
    this.#context = context;
    this.#client = client;
    this.#load = load;
  }

  /** Lets the person pick the requests to answer. */
  async pick(empty: string): Promise<void> {
    // Whether the list replaces a prompt that someone else resolved.
    let isReplacement = false;
    for (;;) {
      const open = await this.#load();
      if (open.length === 0)
        return this.#end(this.#answeredCount === 0 ? empty : `Answered ${this.#answeredCount}; nothing else is pending.`);
      const selectedRequest = await this.#choose(open, isReplacement);
      if (selectedRequest === undefined) return this.#end(`Answered ${this.#answeredCount}; ${open.length} still pending.`);
      isReplacement = (await this.#answer(selectedRequest)) === 'gone';
    }
  }

  /** Prompts for each request as it arrives, oldest first, until Ctrl-C. */
  async follow(pace: Pace): Promise<never> {
    const { signal, terminal } = this.#context;
    const { statusLine } = await import('../../terminal/progress.ts');
    const line = await statusLine(terminal);
    line?.start(() => `Waiting for requests  ${this.#answeredCount} answered`);
    try {
      for (;;) {
        const nextRequest = (await this.#load()).find(({ id }) => !this.#leftPendingIds.has(id));
        if (nextRequest) {
          line?.hide();
          await this.#answer(nextRequest);
          line?.show();
        }
        await pace.pause(nextRequest !== undefined, signal, this.#client.allowance);
      }
    } finally {
      line?.stop();
    }
  }

  #end(text: string): void {
    this.#context.terminal.note(text);
  }

  async #choose(open: readonly PendingRequest[], unsolicited: boolean): Promise<PendingRequest | undefined> {
    const { prompter, clock, signal } = this.#context;
    const choices = open.map((request) => ({
      name: `${relativeTime(new Date(request.created_at), clock.now())}  ${request.agent_name}  ${request.title}`,
      value: request.id,
      description: `${request.run_title}  (run ${runTitle({ id: request.run_id, run_number: request.run_number })})`,
    }));
    const done = { name: 'Done', value: '' };
    const first = open.find(({ id }) => !this.#leftPendingIds.has(id))?.id ?? done.value;
    const message = `${pluralize(open.length, 'request is', 'requests are')} waiting for an answer`;
    const id = await prompter.select({ message, choices: [...choices, done], initial: first }, { signal, unsolicited });
    return open.find((request) => request.id === id);
  }

  /** Prompts for one request. The prompt disappears if someone else answers first. */
  async #answer(request: PendingRequest): Promise<AnswerOutcome> {
    const { terminal } = this.#context;
    terminal.note(`${request.run_number ? `#${request.run_number}  ` : ''}${request.agent_name}: ${request.run_title}`);
    const outcome = await answerHere(this.#context, this.#client, request.run_id, request);
    if (outcome === 'answered') this.#answeredCount += 1;
    if (outcome === 'left') {
      this.#leftPendingIds.add(request.id);
      terminal.note(`Left pending: ${request.title}`);
    }
    if (outcome === 'gone') terminal.note('The request is no longer pending: someone else answered it, or the run was stopped.');
    return outcome;
  }
}
