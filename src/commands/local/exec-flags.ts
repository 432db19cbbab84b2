/** The flags for commands and agents of runs: how far they are confined, and which hosts contained programs can reach. */
import type { LocalState } from '../../cli/connect/local-state.ts';
import { choice, texts } from '../../cli/kit/flags.ts';
import type { ExecSetting, Service } from '../../service/service.ts';
import { withOwnMachine } from './outbound-hosts.ts';

const settings = ['auto', 'contained', 'host', 'off'] as const satisfies readonly ExecSetting[];

export const execOptions = (byDefault: ExecSetting) =>
  ({
    exec: choice(
      settings,
      `How runs can execute commands and agents: confined (contained), confined if this machine can do that and otherwise not at all (auto), as you and without isolation (host), or not at all (off) (default ${byDefault})`,
    ),
    allowAgentHost: texts(
      'HOST|CIDR',
      'Allow contained agents that list it to reach this host: a name, *.NAME, an address, a range, "loopback" for this machine, "public" for the internet, or "all" for the whole network of this machine; can be repeated (default: public; `local up` adds loopback)',
    ),
  }) as const;

export interface ExecInput {
  exec: ExecSetting | undefined;
  allowAgentHost: string[];
}

const publicInternet = 'public';

/** The hosts for the service. */
export const agentHosts = ({ allowAgentHost }: ExecInput): string[] => [...new Set([publicInternet, ...allowAgentHost])];

/** The arguments that `local up` passes to `aops serve`. */
export const execArguments = ({ exec, allowAgentHost }: ExecInput): string[] => [
  ...['--exec', exec ?? 'auto'],
  ...withOwnMachine(allowAgentHost).flatMap((host) => ['--allow-agent-host', host]),
];

/** Whether the running service does not match the requested options. */
export const differsInExec = (running: LocalState, { exec, allowAgentHost }: ExecInput): boolean =>
  (exec !== undefined && exec !== running.exec && exec !== running.exec_setting) ||
  allowAgentHost.some((host) => !(running.agent_hosts ?? []).includes(host));

/** The part of the state about commands: the level in force, and why it is not better. */
export const execState = (service: Service, setting: ExecSetting, input: ExecInput) => ({
  exec: service.exec,
  exec_setting: setting,
  ...(service.shortfall === undefined ? {} : { exec_problem: service.shortfall.missing, exec_hint: service.shortfall.remedy }),
  agent_hosts: agentHosts(input),
});
