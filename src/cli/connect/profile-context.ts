/** The context of a command as if it had been started with another profile. */
import { requireTeam, resolveConfig } from '../../config/resolve.ts';
import type { Context } from '../kit/context.ts';

/** Variables that would apply to every profile alike. */
export const overridingVariables: readonly string[] = [
  ...['AOPS_PROFILE', 'AOPS_BASE_URL', 'AOPS_TEAM_ID'],
  ...['AOPS_API_KEY', 'AOPS_CLIENT_ID', 'AOPS_CLIENT_SECRET', 'AOPS_TOKEN_URL', 'AOPS_SCOPE'],
];

/** The address, team and credential are those of the profile, whatever the environment and `.aops.toml` contain. The caller closes its client. */
export function contextOfProfile(context: Context, profile: string): Context {
  const env = Object.fromEntries(Object.entries(context.env).filter(([name]) => !overridingVariables.includes(name)));
  const flags = { ...context.flags, profile };
  let config: ReturnType<Context['config']> | undefined;
  let client: ReturnType<Context['client']> | undefined;
  const profileContext: Context = {
    ...context,
    env,
    flags,
    project: undefined,
    config: () => {
      config ??= resolveConfig({ flags: { ...flags, input: !flags.noInput }, env, store: context.store });
      return config;
    },
    client: () => {
      client ??= import('./connection.ts').then(({ connect }) => connect(profileContext));
      return client;
    },
    teamId: () => requireTeam(profileContext.config()),
  };
  return profileContext;
}
