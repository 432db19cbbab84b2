/** The hosts that a service can send requests to on behalf of users, from its flags and its state. */

/** The word for this machine. `local up` always allows it, because it belongs to the user. */
export const ownMachine = 'loopback';

/** The hosts that `local up` passes on: this machine and the requested ones. */
export const withOwnMachine = (hosts: readonly string[]): string[] => [...new Set([ownMachine, ...hosts])];

/** The hosts in words; undefined if only this machine is allowed, or an older version did not record them. */
export function hostsInWords(hosts: readonly string[] | null | undefined): string | undefined {
  if (hosts === null || hosts === undefined) return undefined;
  if (hosts.length === 0) return 'not allowed';
  const otherHosts = hosts.filter((host) => host !== ownMachine);
  const places = [...(otherHosts.length < hosts.length ? ['this machine'] : []), ...otherHosts];
  return otherHosts.length === 0 ? undefined : `allowed to ${places.join(', ')}`;
}
