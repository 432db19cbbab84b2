/**
 * The acp runtime: runs an agent that speaks the Agent Client Protocol as a process in the run's sandbox. The definition (definition.ts)
 * specifies the agent; a turn of the run is one or several prompts (turn.ts). A person answers the agent's requests: while the run waits,
 * the process stays alive for some minutes. After that, another process continues the session.
 */
import type { Outcome, RunHost } from '../run-host.ts';
import type { Runtime } from '../runtime.ts';
import { AgentSlots } from './agent-slots.ts';
import { type AgentDefinition, parseDefinition } from './definition.ts';
import type { LiveAgent } from './live-agent.ts';
import type { AcpOptions } from './options.ts';
import { ParkedAgents } from './parked-agents.ts';
import { AgentProblem } from './problems.ts';
import { registeredAgents } from './registered-agents.ts';
import type { TurnState } from './turn.ts';

/** How long the process of a waiting run stays alive by default, in milliseconds. */
const defaultIdleTimeout = 180_000;
/** How many times in a row the service can end during a prompt before the run fails. */
const maxInterruptions = 5;

interface OpenAgent {
  agent: LiveAgent;
  state: TurnState;
}

export function createAcpRuntime(options: AcpOptions): Runtime {
  const { clock } = options;
  const parked = new ParkedAgents<TurnState>(clock, options.idleTimeout ?? defaultIdleTimeout, (runId) => slots.release(runId));
  const slots = new AgentSlots(options.agentConcurrency, () => parked.endOldest());
  /** The processes that are being ended, by run. */
  const endings = new Map<string, Promise<void>>();
  /** The checks in progress. */
  const checks = new Set<Promise<void>>();

  /** Keeps track of the end of a process, and frees its slot afterwards. Resolves when the process has ended. */
  const finish = (runId: string, ending: Promise<void>): Promise<void> => {
    const end = ending
      .catch(() => undefined)
      .finally(() => {
        endings.delete(runId);
        slots.release(runId);
      });
    endings.set(runId, end);
    return end;
  };

  const openAgent = async (host: RunHost, definition: AgentDefinition): Promise<OpenAgent> => {
    const parkedAgent = parked.take(host.run.id);
    if (parkedAgent !== undefined) {
      // The secrets might have been replaced since its process was started.
      host.redact(parkedAgent.agent.secrets);
      return parkedAgent;
    }
    // Two processes must not work on the same files.
    await endings.get(host.run.id);
    await slots.acquire(host.run.id, host.signal);
    // The protocol's library takes time to load, and most services have no such agents.
    const { startAgent } = await import('./start-agent.ts');
    try {
      return await startAgent(host, definition, options);
    } catch (error) {
      slots.release(host.run.id);
      throw error;
    }
  };

  const advance = async (host: RunHost, definition: AgentDefinition): Promise<Outcome> => {
    if (host.interruptions >= maxInterruptions)
      return {
        status: 'failed',
        error: `The run was abandoned: the service ended ${host.interruptions} times in a row while the agent was working.`,
      };
    const { Turn } = await import('./turn.ts');
    const opened = await openAgent(host, definition);
    opened.agent.tools?.attach(host);
    let outcome: Outcome | undefined;
    try {
      outcome = await new Turn(host, definition, opened).follow();
      return outcome;
    } finally {
      const { agent } = opened;
      agent.tools?.detach();
      if (outcome?.status === 'waiting') parked.put(host.run.id, opened);
      // The run has been stopped already; its worker does not have to wait for the agent.
      else if (isStopped(host.signal)) void finish(host.run.id, agent.stop(clock));
      // A run that has ended has no process that could still change its files.
      else await finish(host.run.id, agent.end());
    }
  };

  return {
    name: 'acp',
    description: 'Runs an agent that speaks the Agent Client Protocol, such as Claude Code, Codex, Gemini, or opencode.',
    validate: (text) => void parseDefinition(text),
    async advance(host) {
      host.signal.throwIfAborted();
      try {
        return await advance(host, parseDefinition(host.procedure, options.turnTimeout));
      } catch (error) {
        host.signal.throwIfAborted();
        if (error instanceof AgentProblem) return { status: 'failed', error: error.message };
        throw error;
      }
    },
    programs: () => registeredAgents(options),
    async check(request) {
      const { checkAgent } = await import('./check-agent.ts');
      const checking = checkAgent(request, parseDefinition(request.procedure), options, slots);
      // The service does not end before the processes of checks.
      const done = checking.then(
        () => undefined,
        () => undefined,
      );
      checks.add(done);
      try {
        return await checking;
      } finally {
        checks.delete(done);
      }
    },
    // An agent decides by itself what it does, so there are no steps to count.
    countSteps: () => 0,
    release: (runId) => parked.stop(runId),
    async close() {
      await parked.close();
      await Promise.all([...endings.values(), ...checks]);
    },
  };
}

const isStopped = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && (reason as { reason?: unknown } | undefined)?.reason === 'stopped';
