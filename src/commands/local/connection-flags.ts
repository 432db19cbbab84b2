/** The flag for the hosts that connections of a service can reach. */

import type { LocalState } from '../../cli/connect/local-state.ts';
import { texts } from '../../cli/kit/flags.ts';
import { withOwnMachine } from './outbound-hosts.ts';

export const connectionOptions = {
  allowConnectionHost: texts(
    'HOST|CIDR',
    'Allow connections to this host, and repositories on it: a name, *.NAME, an address, a range, "loopback" for this machine, or "public" for the internet; can be repeated (default: none; `local up` adds loopback)',
  ),
} as const;

export interface ConnectionInput {
  allowConnectionHost: string[];
}

/** The options for the service. */
export const connectionSettings = ({ allowConnectionHost }: ConnectionInput) => ({ allow: allowConnectionHost });

/** The arguments that `local up` passes to `aops serve`. */
export const connectionArguments = ({ allowConnectionHost }: ConnectionInput): string[] =>
  withOwnMachine(allowConnectionHost).flatMap((host) => ['--allow-connection-host', host]);

/** Whether the running service does not allow a requested host. */
export const differsInConnections = ({ connection_hosts = [] }: LocalState, { allowConnectionHost }: ConnectionInput): boolean =>
  allowConnectionHost.some((host) => !connection_hosts.includes(host));
