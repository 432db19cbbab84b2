/** The agents of the registry, with what is installed on this machine. */
import type { RegisteredAgent } from '../../../interface/types.ts';
import { type AgentHost, findInstallation } from './installation.ts';
import type { AcpOptions } from './options.ts';
import { type AcpAgent, acpRegistry, installCommand } from './registry.ts';
import { thisMachine } from './this-machine.ts';

/** All agents of the registry. */
export async function registeredAgents(options: AcpOptions): Promise<RegisteredAgent[]> {
  const machine = await thisMachine(options);
  return Promise.all(acpRegistry().agents.map((agent) => registeredAgent(agent, machine)));
}

async function registeredAgent(agent: AcpAgent, machine: AgentHost): Promise<RegisteredAgent> {
  const { id, alias, name, description, website, license, version, credentials, login, hosts, distribution } = agent;
  const installation = await findInstallation(agent, machine);
  const isInstalled = installation.status === 'installed';
  return {
    ...{ id, alias, name, description, website, license, version },
    status: isInstalled ? 'installed' : installation.reason,
    installed_version: isInstalled ? installation.version : null,
    warnings: installation.warnings,
    install_command: installCommand(agent),
    platforms: distribution.platforms,
    ...{ credentials, login, hosts },
  };
}
