/** Where a service may send requests that others asked for, as its flags and its state say it. */

/** The word for this machine, which `local up` always allows: it is the user's own. */
export const ownMachine = 'loopback';

/** What `local up` passes on: its own machine, and what was asked for. */
export const withOwnMachine = (hosts: readonly string[]): string[] => [...new Set([ownMachine, ...hosts])];

/** For people; nothing where it is this machine alone, or an older version did not say. */
export function hostsInWords(hosts: readonly string[] | null | undefined): string | undefined {
  if (hosts === null || hosts === undefined) return undefined;
  if (hosts.length === 0) return 'may go nowhere';
  const others = hosts.filter((host) => host !== ownMachine);
  const places = [...(others.length < hosts.length ? ['this machine'] : []), ...others];
  return others.length === 0 ? undefined : `may go to ${places.join(', ')}`;
}
