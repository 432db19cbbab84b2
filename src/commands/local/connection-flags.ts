/** The flag that says where a service may connect to for its connections. */
import { texts } from '../define.ts';
import type { LocalState } from './state.ts';

export const connectionOptions = {
  allowConnectionHost: texts(
    'HOST|CIDR',
    'Let connections go there too: a name, *.NAME, an address, a range, or public for the internet (default: this machine alone); may be repeated',
  ),
} as const;

export interface ConnectionInput {
  allowConnectionHost: string[];
}

/** As the service takes them. */
export const connectionSettings = ({ allowConnectionHost }: ConnectionInput) => ({ allow: allowConnectionHost });

/** As `aops serve` takes them. */
export const connectionArguments = ({ allowConnectionHost }: ConnectionInput): string[] =>
  allowConnectionHost.flatMap((host) => ['--allow-connection-host', host]);

/** Whether a running service lacks something that is asked for. */
export const differsInConnections = ({ connection_hosts = [] }: LocalState, { allowConnectionHost }: ConnectionInput): boolean =>
  allowConnectionHost.some((host) => !connection_hosts.includes(host));

/** For people; nothing where only this machine is reached. */
export const connectionsInWords = (hosts: readonly string[] | null | undefined): string | undefined =>
  hosts?.length ? `go to this machine and to ${hosts.join(', ')}` : undefined;
