/** Variables with which a program that calls aops reaches the same service and team as the command that starts it. Not its credential. */
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
