/** One turn of a run with an agent: prompts it, records what it does, and takes its requests to people. */
import { createHash } from 'node:crypto';
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk';
import { orAborted } from '../../../base/abort.ts';
import { steadyTime } from '../../../base/clock.ts';
import type { AgentUsage, HumanAnswer, HumanRequestDraft, Outcome, RunHost, RuntimeEvent } from '../runtime.ts';
import type { Ask } from './connection.ts';
import type { AgentDefinition } from './definition.ts';
import { elicitationRequest, elicitationResponse } from './elicitation.ts';
import type { LiveAgent } from './live-agent.ts';
import { fingerprintOf, outcomeOf, permissionRequest } from './permission.ts';
import { AgentProblem } from './problems.ts';
import { denialText, promptText } from './prompts.ts';
import { answeredKey, storeRequest, unusedAnswers, useAnswer } from './requests.ts';
import { eventIds } from './updates.ts';

/** What a turn remembers as long as the process of its agent is running. */
export interface TurnState {
  /** The request that a person is answering. */
  openRequest: { ask: Ask; key: string; draft: HumanRequestDraft } | undefined;
  /** Denials with reasons: the protocol has no place for them, so they become the next prompt. */
  denials: { title: string; reason: string }[];
  /** Whether a person has denied something during the prompt. */
  wasDenied: boolean;
  /** How long the agent has worked in this turn, in milliseconds. */
  workedTime: number;
  /** The prompt that the agent has not reacted to yet: how many messages it has got with it. */
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
   * Goes on until the agent has finished, or a person has to answer. Throws an AgentProblem if the agent does not continue, and the
   * signal's reason.
   */
  async follow(): Promise<Outcome> {
    const { signal, clock } = this.#host;
    const startedAt = steadyTime(clock) - this.#state.workedTime;
    if (this.#agent.prompt === undefined) await this.#beginTurn();
    else this.#watchPrompt();
    const timer = new AbortController();
    const timeUp = this.#timeUp(AbortSignal.any([signal, timer.signal]));
    // It is awaited only while the agent works.
    timeUp.catch(() => undefined);
    try {
      for (;;) {
        signal.throwIfAborted();
        // What arrives before the end of the prompt is handled before it.
        const end = this.#end;
        const events: RuntimeEvent[] = [];
        const { isClosed } = this.#agent.receive((update) => events.push(...this.#accept(update)));
        if (events.length > 0) await this.#emit(events);
        // An agent that has ended its turn does not wait for answers.
        if (end !== undefined && 'response' in end) this.#agent.cancelAsks();
        const [ask] = this.#agent.asks;
        if (ask !== undefined) {
          const pause = await this.#settle(ask);
          if (pause !== undefined) return pause;
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
        // The updates before the end are handed over in the same turn of the event loop.
        await turnOfEventLoop();
        this.#end = end;
      });
  }

  /** Rejects when the agent has worked for too long. The time in which it waits for people does not count. */
  async #timeUp(signal: AbortSignal): Promise<never> {
    const { timeout } = this.#definition;
    await this.#host.clock.sleep(Math.max(0, timeout - this.#state.workedTime), signal).catch(() => new Promise<never>(() => undefined));
    throw new AgentProblem(
      `The agent did not finish within ${timeout / 1_000} seconds. Set \`timeout\` in its definition to a longer time if that is not enough.`,
    );
  }

  /** The first prompt of a process. */
  async #beginTurn(): Promise<void> {
    const { agentSession: saved, userMessages } = this.#host;
    const { origin } = this.#agent;
    const isNewSession = origin === 'new' || origin === 'replaced';
    const answers = unusedAnswers(this.#host);
    const text = promptText({
      instructions: isNewSession ? this.#definition.instructions : undefined,
      transcript: origin === 'replaced' ? await this.#host.transcript() : undefined,
      messages: origin === 'new' ? userMessages : userMessages.slice(saved?.promptedMessages ?? 0),
      isContinued: saved !== undefined,
      answers,
    });
    await this.#emit(this.#openingNotices());
    // The answer to a question allows nothing, so the prompt can contain it.
    if (saved !== undefined) for (const { key, answer } of answers) if (answer.type === 'question') await useAnswer(this.#host, key);
    this.#send(text);
  }

  #send(text: string): void {
    this.#state.sentMessages = this.#host.userMessages.length;
    this.#state.wasDenied = false;
    this.#agent.begin(text);
    this.#watchPrompt();
  }

  /** What people should know about how the agent works, and how its session was continued. */
  #openingNotices(): RuntimeEvent[] {
    const { origin, mode, name, version, replacementReason } = this.#agent;
    const texts: string[] = [];
    const saved = this.#host.agentSession;
    if (mode?.asks === false && saved?.mode !== mode.mode)
      texts.push(
        `${name} ${version} works in the mode "${mode.mode}", in which it decides by itself what it does without asking a person.`,
      );
    if (origin === 'resumed' || origin === 'loaded') texts.push(`The session of ${name} was ${origin}.`);
    if (origin === 'replaced')
      texts.push(
        `A new session of ${name} was opened with the transcript, because the earlier one cannot be continued: ${replacementReason?.replace(/\.$/, '')}.`,
      );
    return texts.map((text) => ({ kind: 'notice', id: this.#nextEventId(), text }));
  }

  #accept(update: SessionUpdate): RuntimeEvent[] {
    if (update.sessionUpdate === 'usage_update') {
      const { used, size, cost } = update;
      this.#state.usage = {
        contextTokens: used,
        contextSize: size,
        cost: cost == null ? null : { amount: cost.amount, currency: cost.currency },
      };
      return [];
    }
    try {
      return this.#agent.updates.accept(update);
    } catch {
      // An update with fields that the protocol does not define says nothing that could be shown.
      return [];
    }
  }

  async #emit(events: RuntimeEvent[]): Promise<void> {
    if (this.#state.sentMessages !== undefined) await this.#saveSession(events);
    else if (events.length > 0) await this.#host.emit(events);
  }

  /** Saves the session. The agent has reacted to the prompt, so it does not have to get the messages again. */
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

  /** Answers a request of the agent, or lets the run wait for the answer of a person. */
  async #settle(ask: Ask): Promise<Outcome | undefined> {
    const { openRequest } = this.#state;
    if (openRequest?.ask === ask) return await this.#answer(openRequest);
    if (ask.kind === 'permission') {
      const { call, events } = this.#agent.updates.acceptPermission(ask.request.toolCall);
      await this.#emit(events);
      return await this.#ask(ask, fingerprintOf(call), permissionRequest(call, ask.request.options, this.#agent.updates.argumentsOf(call)));
    }
    await this.#emit(this.#agent.updates.finish());
    const draft = elicitationRequest(ask.request);
    if (draft !== undefined) {
      const { _meta: meta, ...question } = ask.request;
      return await this.#ask(ask, createHash('sha256').update(JSON.stringify(question)).digest('hex'), draft);
    }
    const text = `The agent asked for something that cannot be answered here, and was told so: ${ask.request.message}`;
    await this.#emit([{ kind: 'notice', id: this.#nextEventId(), text }]);
    this.#agent.asks.shift();
    ask.respond({ action: 'decline' } as never);
    return undefined;
  }

  async #ask(ask: Ask, fingerprint: string, draft: HumanRequestDraft): Promise<Outcome | undefined> {
    const key = answeredKey(this.#host, fingerprint) ?? (await storeRequest(this.#host, fingerprint, draft));
    return await this.#answer({ ask, key, draft });
  }

  async #answer(openRequest: NonNullable<TurnState['openRequest']>): Promise<Outcome | undefined> {
    const { ask, key, draft } = openRequest;
    const answer = this.#host.answer(key);
    if (answer === undefined) {
      this.#state.openRequest = openRequest;
      await this.#saveSession([]);
      return { status: 'waiting', step: key, request: draft };
    }
    await useAnswer(this.#host, key);
    this.#state.openRequest = undefined;
    this.#agent.asks.shift();
    respond(ask, answer);
    if (answer.type === 'approval' && !answer.approved) {
      this.#state.wasDenied = true;
      if (answer.reason !== undefined) this.#state.denials.push({ title: draft.title, reason: answer.reason });
    }
    return undefined;
  }

  /** What follows after a prompt: the outcome of the turn, or another prompt. */
  async #finishPrompt(end: { response: PromptResponse } | { error: unknown }): Promise<Outcome | undefined> {
    const { updates } = this.#agent;
    await this.#emit([...updates.finish(), ...updates.abandonCalls('The agent did not report a result.')]);
    if ('error' in end) throw await this.#agent.problem(end.error, 'while it was working');
    await this.#saveSession([]);
    const { stopReason } = end.response;
    // Codex ends its turn in this way when a person has denied something.
    const failure = stopReason === 'cancelled' && this.#state.wasDenied ? undefined : stopFailure(stopReason);
    if (failure !== undefined) return { status: 'failed', error: failure };
    const messages = this.#host.userMessages.slice(this.#host.agentSession?.promptedMessages ?? 0);
    const texts = [...this.#state.denials.splice(0).map(denialText), ...messages];
    if (texts.length === 0) return { status: 'completed' };
    this.#send(texts.join('\n\n'));
    return undefined;
  }
}

function respond(ask: Ask, answer: HumanAnswer): void {
  if (ask.kind === 'permission') ask.respond(outcomeOf(ask.request.options, answer.type === 'approval' && answer.approved));
  else ask.respond(elicitationResponse(ask.request, answer));
}

/** Why a run fails with a stop reason; undefined if the agent has finished. */
function stopFailure(reason: PromptResponse['stopReason']): string | undefined {
  switch (reason) {
    case 'end_turn':
      return undefined;
    case 'max_tokens':
      return 'The agent stopped because its model reached the limit of tokens. Send the run a message to let it continue.';
    case 'max_turn_requests':
      return 'The agent stopped because it reached its limit of model requests. Send the run a message to let it continue.';
    case 'refusal':
      return 'The agent refused to continue. Send the run a message to try something else.';
    default:
      return `The agent stopped its work (${reason}).`;
  }
}
