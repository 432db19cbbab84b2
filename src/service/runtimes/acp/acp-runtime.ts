/**
 * The acp runtime: runs an agent that speaks the Agent Client Protocol as a process in the run's sandbox. The definition says which
 * (definition.ts); a turn of the run is one or several prompts (turn.ts). A person decides what the agent asks: while the run waits, the
 * process is kept for some minutes, and afterwards the session is continued by another process.
 */
import type { Outcome, RunHost, Runtime } from '../runtime.ts';
import { type AgentDefinition, parseDefinition } from './definition.ts';
import type { LiveAgent } from './live-agent.ts';
import type { AcpOptions } from './options.ts';
import { ParkedAgents } from './parked-agents.ts';
import { AgentProblem } from './problems.ts';
import { defaultSeats, Seats } from './seats.ts';
import type { TurnState } from './turn.ts';

/** The default time for which the process of a waiting run is kept, in milliseconds. */
const defaultPatience = 180_000;
/** How often the end of the service can interrupt a prompt before the run fails. */
const maxInterruptions = 5;

interface OpenAgent {
  agent: LiveAgent;
  state: TurnState;
}

export function createAcpRuntime(options: AcpOptions): Runtime {
  const { clock } = options;
  const parked = new ParkedAgents<TurnState>(clock, options.patience ?? defaultPatience, (runId) => seats.give(runId));
  const seats = new Seats(options.agentConcurrency ?? defaultSeats(), () => parked.endOldest());
  /** Ends of processes that are in progress, by run. */
  const endings = new Map<string, Promise<void>>();

  /** Ends the process of a run that does not wait. */
  const finish = (runId: string, ending: Promise<void>): void => {
    const end = ending
      .catch(() => undefined)
      .finally(() => {
        endings.delete(runId);
        seats.give(runId);
      });
    endings.set(runId, end);
  };

  const openAgent = async (host: RunHost, definition: AgentDefinition): Promise<OpenAgent> => {
    const kept = parked.take(host.run.id);
    if (kept !== undefined) return kept;
    // Two processes must not work on the same files.
    await endings.get(host.run.id);
    await seats.take(host.run.id, host.signal);
    // The protocol's library takes time to load, and most services have no such agents.
    const { startAgent } = await import('./start-agent.ts');
    try {
      return await startAgent(host, definition, options);
    } catch (error) {
      seats.give(host.run.id);
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
    const open = await openAgent(host, definition);
    let outcome: Outcome | undefined;
    try {
      outcome = await new Turn(host, definition, open).follow();
      return outcome;
    } finally {
      const { agent } = open;
      if (outcome?.status === 'waiting') parked.put(host.run.id, open);
      else if (isStopped(host.signal)) finish(host.run.id, agent.stop(clock));
      else finish(host.run.id, agent.end());
    }
  };

  return {
    name: 'acp',
    description: 'Runs an agent that speaks the Agent Client Protocol, such as Claude Code, Codex, Gemini, or opencode.',
    validate: (text) => void parseDefinition(text),
    async advance(host) {
      host.signal.throwIfAborted();
      try {
        return await advance(host, parseDefinition(host.procedure));
      } catch (error) {
        host.signal.throwIfAborted();
        if (error instanceof AgentProblem) return { status: 'failed', error: error.message };
        throw error;
      }
    },
    // An agent decides itself what it does.
    countSteps: () => 0,
    release: (runId) => parked.stop(runId),
    async close() {
      await parked.close();
      await Promise.all(endings.values());
    },
  };
}

const isStopped = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && (reason as { reason?: unknown } | undefined)?.reason === 'stopped';
