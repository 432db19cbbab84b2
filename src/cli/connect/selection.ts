/**
 * What a further call of aops needs to reach the same service and team as this command: variables for programs that it starts, and flags in
 * the commands that it suggests. Without them, a run number could name a run of another team. Neither contains a credential.
 */
import type { ResolvedConfig } from '../../config/resolve.ts';
import type { GlobalFlags } from '../kit/global-flags.ts';

/** The variables that stand for flags. */
export const flagVariables = {
  profile: 'AOPS_PROFILE',
  team: 'AOPS_TEAM_ID',
  baseUrl: 'AOPS_BASE_URL',
  caFile: 'AOPS_CA_FILE',
  clientCert: 'AOPS_CLIENT_CERT',
  clientKey: 'AOPS_CLIENT_KEY',
} as const;

/** What the flags of the command select. */
export function selectedByFlags(flags: Partial<GlobalFlags>): Record<string, string> {
  const entries = Object.entries(flagVariables).map(([key, name]) => [name, flags[key as keyof typeof flagVariables]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Record<string, string>;
}

/** What the profile and `.aops.toml` select: without the variable, another profile could be current by the time the program starts. */
export const selectedByConfig = ({ profile, team_id, agent }: ResolvedConfig): Record<string, string> => ({
  ...(profile.value === undefined ? {} : { AOPS_PROFILE: profile.value }),
  ...(team_id.source === 'project' ? { AOPS_TEAM_ID: String(team_id.value) } : {}),
  ...(agent.source === 'project' ? { AOPS_AGENT: String(agent.value) } : {}),
});

/** Flags to repeat. The others say how the service is reached, and a command without them fails with a clear error. */
const repeatedFlags = { profile: '--profile', team: '--team', baseUrl: '--base-url' } as const;

type SelectionFlags = Partial<Pick<GlobalFlags, keyof typeof repeatedFlags>>;

/** A value that neither a shell nor JSON has to quote, because suggestions are a part of both, and that is not an address with a password. */
const plainValue = /^[\w%+=:,./-]+$/;

/** Commands that do not depend on a service, or set up one. */
const independent = 'local|serve|config|profiles|alias|extensions|completion|help|commands';

/** `aops --profile acme runs watch 17` for `aops runs watch 17`. */
export function withSelection(command: string, flags: SelectionFlags): string {
  const words = Object.entries(repeatedFlags).flatMap(([key, flag]) => {
    const value = flags[key as keyof SelectionFlags];
    return value !== undefined && plainValue.test(value) ? [flag, value] : [];
  });
  return words.length === 0 ? command : command.replace(/^aops (?=[a-z])/, `aops ${words.join(' ')} `);
}

/** The same for every command that a text suggests, in backticks, in `$(...)`, or after a colon, unless it only shows help. */
export const suggestionsWithSelection = (text: string, flags: SelectionFlags): string =>
  text.replace(suggestion, (command) => withSelection(command, flags));

const suggestion = new RegExp(`(?<=\`|: |[$][(])aops (?!(?:${independent})\\b|[^\`]*--help)[a-z]`, 'g');
