/** The flags for commands and agents of runs, between `local up` and `aops serve`, and what the state of the service records about them. */
import type { LocalState } from '../../cli/connect/local-state.ts';
import { agentHosts, type ExecInput } from '../../cli/input/exec-options.ts';
import type { ExecSetting, Service } from '../../service/service.ts';
import { withOwnMachine } from './outbound-hosts.ts';

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
