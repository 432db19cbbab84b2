/** One turn of a run with an agent: prompts the agent, records what it does, and turns its requests into human requests. */
import { createHash } from 'node:crypto';
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk';
import { orAborted } from '../../../base/abort.ts';
import { steadyTime } from '../../../base/clock.ts';
import type { AgentUsage, HumanAnswer, HumanRequestDraft, Outcome, RunHost, RuntimeEvent } from '../run-host.ts';
import type { IncomingRequest } from './connection.ts';
import type { AgentDefinition } from './definition.ts';
import { elicitationRequest, elicitationResponse } from './elicitation.ts';
import type { LiveAgent } from './live-agent.ts';
import { fingerprintOf, outcomeOf, permissionRequest } from './permission.ts';
import { permissionQuestions, questionResponse } from './permission-questions.ts';
import { AgentProblem } from './problems.ts';
import { denialText, promptText } from './prompts.ts';
import { answeredKey, storeRequest, unusedAnswers, useAnswer } from './requests.ts';
import { eventIds } from './updates.ts';
import { usageOf } from './usage.ts';

/** The state of a turn, which exists as long as the process of its agent is running. */
export interface TurnState {
  /** The request that waits for a person's answer. */
  openRequest: { request: IncomingRequest; key: string; draft: HumanRequestDraft } | undefined;
  /** Denials with reasons: the protocol has no field for reasons, so they become the next prompt. */
  denials: { title: string; reason: string }[];
  /** Whether a person has denied something during the prompt. */
  wasDenied: boolean;
  /** How long the agent has worked in this turn, in milliseconds. */
  workedTime: number;
  /** How many of the run's messages the agent has been sent; undefined once it has reacted to the latest prompt. */
  sentMessages: number | undefined;
  usage: AgentUsage | null;
}

export const newState = (usage: AgentUsage | null): TurnState => ({
  openRequest: undefined,
  denials: [],
  wasDenied: false,
  workedTime: 0,
  sentMessages: undefined,
  usage,
});

export class Turn {
  readonly #host: RunHost;
  readonly #definition: AgentDefinition;
  readonly #agent: LiveAgent;
  readonly #state: TurnState;
  readonly #nextEventId: () => string;
  #end: { response: PromptResponse } | { error: unknown } | undefined;

  constructor(host: RunHost, definition: AgentDefinition, { agent, state }: { agent: LiveAgent; state: TurnState }) {
    this.#host = host;
    this.#definition = definition;
    this.#agent = agent;
    this.#state = state;
    this.#nextEventId = eventIds();
  }

  /**
   * Follows the agent until it has finished, or a person has to answer. Throws an AgentProblem if the agent does not continue, and the
   * signal's reason.
   */
  async follow(): Promise<Outcome> {
    const { signal, clock } = this.#host;
    const startedAt = steadyTime(clock) - this.#state.workedTime;
    if (this.#agent.prompt === undefined) await this.#beginTurn();
    else this.#watchPrompt();
    const timer = new AbortController();
    const timeUp = this.#timeUp(AbortSignal.any([signal, timer.signal]));
    // It is only awaited while the agent works.
    timeUp.catch(() => undefined);
    try {
      for (;;) {
        signal.throwIfAborted();
        // Messages that arrive before the end of the prompt are handled first.
        const end = this.#end;
        const events: RuntimeEvent[] = [];
        const { isClosed } = this.#agent.receive((update) => events.push(...this.#accept(update)));
        if (events.length > 0) await this.#emit(events);
        // An agent that has ended its turn does not wait for answers.
        if (end !== undefined && 'response' in end) this.#agent.cancelRequests();
        const [request] = this.#agent.requests;
        if (request !== undefined) {
          const outcome = await this.#handleRequest(request);
          if (outcome !== undefined) return outcome;
        } else if (end !== undefined) {
          const outcome = await this.#finishPrompt(end);
          if (outcome !== undefined) return outcome;
        } else if (isClosed) throw await this.#agent.problem(new Error('The connection is closed.'), 'while it was working');
        else await orAborted(Promise.race([this.#agent.connection.arrival(), this.#promptEnd, timeUp]), signal);
      }
    } finally {
      timer.abort();
      this.#state.workedTime = steadyTime(clock) - startedAt;
    }
  }

  /** Resolves when the prompt has ended. */
  #promptEnd: Promise<void> = Promise.resolve();

  #watchPrompt(): void {
    this.#end = undefined;
    this.#promptEnd = (this.#agent.prompt as Promise<PromptResponse>)
      .then(
        (response) => ({ response }),
        (error: unknown) => ({ error }),
      )
      .then(async (end) => {
        // The updates that precede the end arrive in the same turn of the event loop.
        await turnOfEventLoop();
        this.#end = end;
      });
  }

  /** Rejects when the agent has worked for too long. Time spent waiting for people does not count. */
  async #timeUp(signal: AbortSignal): Promise<never> {
    const { timeout } = this.#definition;
    await this.#host.clock.sleep(Math.max(0, timeout - this.#state.workedTime), signal).catch(() => new Promise<never>(() => undefined));
    throw new AgentProblem(
      `The agent did not finish within ${timeout / 1_000} seconds. Set \`timeout\` in its definition to a longer time if that is not enough.`,
    );
  }

  /** The first prompt of a process. */
  async #beginTurn(): Promise<void> {
    const { agentSession: savedSession } = this.#host;
    const { origin } = this.#agent;
    // More messages can arrive before the prompt is sent.
    const { messages, count } = this.#unsentMessages(origin === 'new' ? 0 : savedSession?.promptedMessages);
    const isNewSession = origin === 'new' || origin === 'replaced';
    const answers = unusedAnswers(this.#host);
    const text = promptText({
      instructions: isNewSession ? this.#agent.instructions : undefined,
      transcript: origin === 'replaced' ? await this.#host.transcript() : undefined,
      messages,
      isContinued: savedSession !== undefined,
      answers,
    });
    await this.#emit(this.#openingNotices());
    // An answer to a question permits nothing, so it can be passed on in the prompt.
    if (savedSession !== undefined) for (const { key, answer } of answers) if (answer.type === 'question') await useAnswer(this.#host, key);
    this.#send(text, count);
  }

  /** @param sentMessages how many of the run's messages the agent has been sent with this text */
  #send(text: string, sentMessages: number): void {
    this.#state.sentMessages = sentMessages;
    this.#state.wasDenied = false;
    this.#agent.startPrompt(text);
    this.#watchPrompt();
  }

  /** Notices for people about the agent's mode, and about how its session was continued. */
  #openingNotices(): RuntimeEvent[] {
    const { origin, mode, name, version, replacementReason, toolsShortfall } = this.#agent;
    const texts: string[] = [];
    const savedSession = this.#host.agentSession;
    if (mode?.asks === false && savedSession?.mode !== mode.mode)
      texts.push(`${name} ${version} works in the mode "${mode.mode}", in which it acts without asking a person.`);
    // Only an agent that works on a case is expected to use its tools.
    if ((origin === 'new' || origin === 'replaced') && toolsShortfall !== undefined && this.#host.case !== undefined)
      texts.push(`${name} ${version} has no tools for its case, for its memory, and for artifacts: ${toolsShortfall}.`);
    if (origin === 'resumed' || origin === 'loaded') texts.push(`The session of ${name} was ${origin}.`);
    if (origin === 'replaced')
      texts.push(
        `A new session of ${name} was opened with the transcript, because the earlier one cannot be continued: ${replacementReason?.replace(/\.$/, '')}.`,
      );
    return texts.map((text) => ({ kind: 'notice', id: this.#nextEventId(), text }));
  }

  #accept(update: SessionUpdate): RuntimeEvent[] {
    if (update.sessionUpdate === 'usage_update') {
      this.#state.usage = usageOf(update) ?? this.#state.usage;
      return [];
    }
    try {
      return this.#agent.updates.accept(update);
    } catch {
      // An update whose fields do not match the protocol contains nothing that could be displayed.
      return [];
    }
  }

  async #emit(events: RuntimeEvent[]): Promise<void> {
    if (this.#state.sentMessages !== undefined) await this.#saveSession(events);
    else if (events.length > 0) await this.#host.emit(events);
  }

  /** Saves the session, after the agent has reacted to the prompt: the messages do not have to be sent again. */
  async #saveSession(events: RuntimeEvent[]): Promise<void> {
    const { name, version, mode, sessionId } = this.#agent;
    await this.#host.saveAgentSession(
      {
        ...{ name, version, sessionId, mode: mode?.mode ?? null, asks: mode?.asks ?? null },
        promptedMessages: this.#state.sentMessages ?? this.#host.agentSession?.promptedMessages ?? 0,
        usage: this.#state.usage,
      },
      events,
    );
    this.#state.sentMessages = undefined;
  }

  /** Responds to a request of the agent, or lets the run wait for a person's answer. */
  async #handleRequest(request: IncomingRequest): Promise<Outcome | undefined> {
    const { openRequest } = this.#state;
    if (openRequest?.request === request) return await this.#answer(openRequest);
    if (request.kind === 'permission') {
      const { call, events } = this.#agent.updates.acceptPermission(request.params.toolCall);
      await this.#emit(events);
      return await this.#openRequest(
        request,
        fingerprintOf(call),
        permissionQuestions(request.params) ?? permissionRequest(call, request.params.options, this.#agent.updates.argumentsOf(call)),
      );
    }
    await this.#emit(this.#agent.updates.finish());
    const draft = elicitationRequest(request.params);
    if (draft !== undefined) {
      const { _meta: meta, ...question } = request.params;
      return await this.#openRequest(request, createHash('sha256').update(JSON.stringify(question)).digest('hex'), draft);
    }
    const text = `The agent made a request that cannot be answered here, so it was declined: ${request.params.message}`;
    await this.#emit([{ kind: 'notice', id: this.#nextEventId(), text }]);
    this.#agent.requests.shift();
    request.respond({ action: 'decline' } as never);
    return undefined;
  }

  async #openRequest(request: IncomingRequest, fingerprint: string, draft: HumanRequestDraft): Promise<Outcome | undefined> {
    const key = answeredKey(this.#host, fingerprint) ?? (await storeRequest(this.#host, fingerprint, draft));
    return await this.#answer({ request, key, draft });
  }

  async #answer(openRequest: NonNullable<TurnState['openRequest']>): Promise<Outcome | undefined> {
    const { request, key, draft } = openRequest;
    const answer = this.#host.answer(key);
    if (answer === undefined) {
      this.#state.openRequest = openRequest;
      await this.#saveSession([]);
      return { status: 'waiting', step: key, request: draft };
    }
    await useAnswer(this.#host, key);
    this.#state.openRequest = undefined;
    this.#agent.requests.shift();
    respond(request, answer);
    if (answer.type === 'approval' && !answer.approved) {
      this.#state.wasDenied = true;
      if (answer.reason !== undefined) this.#state.denials.push({ title: draft.title, reason: answer.reason });
    }
    return undefined;
  }

  /** Handles the end of a prompt. Returns the outcome of the turn; undefined if another prompt was sent. */
  async #finishPrompt(end: { response: PromptResponse } | { error: unknown }): Promise<Outcome | undefined> {
    const { updates } = this.#agent;
    await this.#emit([...updates.finish(), ...updates.abandonCalls('The agent did not report a result.')]);
    if ('error' in end) throw await this.#agent.problem(end.error, 'while it was working');
    await this.#saveSession([]);
    const { stopReason } = end.response;
    // Codex ends its turn with this reason when a person has denied something.
    const failure = stopReason === 'cancelled' && this.#state.wasDenied ? undefined : stopFailure(stopReason);
    if (failure !== undefined) return { status: 'failed', error: failure };
    const { messages, count } = this.#unsentMessages(this.#host.agentSession?.promptedMessages);
    const texts = [...this.#state.denials.splice(0).map(denialText), ...messages];
    if (texts.length === 0) return { status: 'completed' };
    this.#send(texts.join('\n\n'), count);
    return undefined;
  }

  /** The messages after the first `sentCount` that the agent gets in a prompt, and how many messages there are with these. */
  #unsentMessages(sentCount = 0): { messages: string[]; count: number } {
    const { userMessages, answeringMessages } = this.#host;
    // The agent gets answers in another way.
    const messages = userMessages.filter((_, index) => index >= sentCount && !answeringMessages.has(index));
    return { messages, count: userMessages.length };
  }
}

function respond(request: IncomingRequest, answer: HumanAnswer): void {
  if (request.kind === 'permission')
    request.respond(
      answer.type === 'question'
        ? questionResponse(request.params, answer.answers)
        : { outcome: outcomeOf(request.params.options, answer.approved) },
    );
  else request.respond(elicitationResponse(request.params, answer));
}

/** A run that has failed takes no messages. */
const anotherRun = 'To continue with its files, start another run in the same sandbox.';

/** Why a run fails with a stop reason; undefined if the agent has finished. */
function stopFailure(reason: PromptResponse['stopReason']): string | undefined {
  switch (reason) {
    case 'end_turn':
      return undefined;
    case 'max_tokens':
      return `The agent stopped because its model reached its token limit. ${anotherRun}`;
    case 'max_turn_requests':
      return `The agent stopped because it reached its limit on model requests. ${anotherRun}`;
    case 'refusal':
      return 'The agent refused to continue. Start another run to try something else.';
    default:
      return `The agent stopped its work (${reason}).`;
  }
}
