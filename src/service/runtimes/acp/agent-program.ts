/** How an agent is started: with the command in its definition, or with the program, variables, and hosts from the registry. */
import type { NetworkPolicy } from '../../sandbox/launch.ts';
import type { AgentDefinition } from './definition.ts';
import { findInstallation } from './installation.ts';
import { AgentProblem } from './problems.ts';
import { acpAgent } from './registry.ts';
import { type MachineOptions, thisMachine } from './this-machine.ts';

export interface AgentProgram {
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** The mode in which it asks for permission most often; undefined to choose one of the modes that it offers. */
  mode: string | undefined;
  /** The ID of the method to sign in with; undefined if no sign-in is needed. */
  authentication: string | undefined;
  network: NetworkPolicy;
}

/**
 * Finds the program on this machine.
 * @throws AgentProblem if it is not installed, ServiceError `acp_agent_not_found`
 */
export async function findProgram(definition: AgentDefinition, options: MachineOptions): Promise<AgentProgram> {
  const { acp, command, network, environment, secrets } = definition;
  if (command !== undefined) return { command, environment: {}, mode: undefined, authentication: undefined, network: networkOf(network) };
  const agent = acpAgent(acp as string);
  const installation = await findInstallation(agent, await thisMachine(options));
  if (installation.status === 'missing') throw new AgentProblem(installation.message, installation.reason);
  const { asking } = agent;
  const isSignedIn = agent.credentials.some((name) => secrets.includes(name) || Object.hasOwn(environment, name));
  return {
    command: installation.command,
    environment: { ...agent.environment, ...(asking !== null && 'environment' in asking ? asking.environment : {}) },
    mode: asking !== null && 'mode' in asking ? asking.mode : undefined,
    // Without a credential, the agent itself explains what is missing.
    authentication: isSignedIn ? (agent.authentication ?? undefined) : undefined,
    network: networkOf([...agent.hosts, ...network]),
  };
}

const networkOf = (hosts: readonly string[]): NetworkPolicy => (hosts.length === 0 ? { kind: 'none' } : { kind: 'hosts', hosts });
