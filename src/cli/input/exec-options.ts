/** The options of commands that start a service: how far the commands and agents of its runs are confined. */
import { choice, texts } from '../kit/flags.ts';

export const execSettings = ['auto', 'contained', 'host', 'off'] as const;
export type ExecSetting = (typeof execSettings)[number];

export const execOptions = (byDefault: ExecSetting) =>
  ({
    exec: choice(
      execSettings,
      `How runs can execute commands and agents: confined (contained), confined if this machine can do that and otherwise not at all (auto), as you and without isolation (host), or not at all (off) (default: ${byDefault})`,
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
export const agentHosts = ({ allowAgentHost }: Pick<ExecInput, 'allowAgentHost'>): string[] => [
  ...new Set([publicInternet, ...allowAgentHost]),
];
