/** The flag that says where a service may connect to for its connections. */

import type { LocalState } from '../../cli/connect/local-state.ts';
import { texts } from '../../cli/kit/flags.ts';
import { withOwnMachine } from './outbound-hosts.ts';

export const connectionOptions = {
  allowConnectionHost: texts(
    'HOST|CIDR',
    'Let connections go there: a name, *.NAME, an address, a range, loopback for this machine, or public for the internet; may be repeated (default: nowhere; `local up` adds loopback)',
  ),
} as const;

export interface ConnectionInput {
  allowConnectionHost: string[];
}

/** As the service takes them. */
export const connectionSettings = ({ allowConnectionHost }: ConnectionInput) => ({ allow: allowConnectionHost });

/** As `local up` hands them to `aops serve`. */
export const connectionArguments = ({ allowConnectionHost }: ConnectionInput): string[] =>
  withOwnMachine(allowConnectionHost).flatMap((host) => ['--allow-connection-host', host]);

/** Whether a running service lacks something that is asked for. */
export const differsInConnections = ({ connection_hosts = [] }: LocalState, { allowConnectionHost }: ConnectionInput): boolean =>
  allowConnectionHost.some((host) => !connection_hosts.includes(host));
