/** The flags for the processes of agents: how many there are, how long they wait for people, and how long they can work. */
import { parseDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import type { LocalState } from '../../cli/connect/local-state.ts';
import { duration, integer } from '../../cli/kit/flags.ts';
import type { Service, ServiceOptions } from '../../service/service.ts';

/** Each agent needs hundreds of MiB of memory, so no machine can run more. */
const maxAgents = 1_000;
const defaultIdle = '3m';
const defaultTimeout = '1h';
/** The same limit applies to `timeout` in the definition of an agent. */
const maxTimeout = '24h';

export const agentProcessOptions = {
  maxAgents: integer('N', 'Run at most this number of agents at the same time (default: as many as fit into half of the memory)', {
    minimum: 1,
    maximum: maxAgents,
  }),
  agentIdle: duration(
    `Keep the process of an agent for this time while its run waits for a person; then end it, and resume the session in another one (default: ${defaultIdle})`,
  ),
  agentTimeout: {
    ...duration(
      `End a turn of an agent after this time, unless its definition sets another (default: ${defaultTimeout}, at most ${maxTimeout})`,
    ),
    parse: timeoutCheck,
  },
} as const;

export interface AgentProcessInput {
  maxAgents: number | undefined;
  agentIdle: string | undefined;
  agentTimeout: string | undefined;
}

function timeoutCheck(value: string, name: string): string {
  const milliseconds = parseDuration(value);
  if (milliseconds !== undefined && milliseconds > 0 && milliseconds <= (parseDuration(maxTimeout) as number)) return value;
  throw new UsageError(`${name} must be a duration of more than 0 and at most ${maxTimeout}, such as 30m; "${value}" is not valid.`);
}

/** The options for the service. */
export const agentProcessSettings = ({
  maxAgents: agentConcurrency,
  agentIdle = defaultIdle,
  agentTimeout = defaultTimeout,
}: AgentProcessInput): Pick<ServiceOptions, 'acp'> => ({
  acp: { agentConcurrency, idleTimeout: parseDuration(agentIdle), turnTimeout: parseDuration(agentTimeout) },
});

/** The arguments for `aops serve`. */
export const agentProcessArguments = ({ maxAgents, agentIdle, agentTimeout }: AgentProcessInput): string[] => [
  ...(maxAgents === undefined ? [] : ['--max-agents', String(maxAgents)]),
  ...(agentIdle === undefined ? [] : ['--agent-idle', agentIdle]),
  ...(agentTimeout === undefined ? [] : ['--agent-timeout', agentTimeout]),
];

/** The limits in the state of a service. */
export const agentProcessState = (
  { agentConcurrency }: Service,
  { agentIdle = defaultIdle, agentTimeout = defaultTimeout }: AgentProcessInput,
) => ({ max_agents: agentConcurrency, agent_idle: agentIdle, agent_timeout: agentTimeout });

/** Whether the limits of the running service differ from the requested ones. */
export const differsInAgentProcesses = (running: LocalState, { maxAgents, agentIdle, agentTimeout }: AgentProcessInput): boolean =>
  (maxAgents !== undefined && maxAgents !== running.max_agents) ||
  differs(running.agent_idle, agentIdle) ||
  differs(running.agent_timeout, agentTimeout);

const differs = (current: string | undefined, requested: string | undefined): boolean =>
  requested !== undefined && (current === undefined || parseDuration(current) !== parseDuration(requested));

/** The limits in words; undefined if the service did not record them. */
export function agentProcessesInWords(limits: {
  max_agents: number | null;
  agent_idle: string | null;
  agent_timeout: string | null;
}): string | undefined {
  const { max_agents: count, agent_idle: idle, agent_timeout: timeout } = limits;
  if (count === null || idle === null || timeout === null) return undefined;
  return `at most ${count} at a time, ${timeout} per turn, kept ${idle} while waiting`;
}
