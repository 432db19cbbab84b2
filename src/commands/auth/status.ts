import { formatDuration } from '../../base/duration.ts';
import type { Token } from '../../client/access/token-cache.ts';
import { originOf } from '../../config/base-url.ts';
import type { UsableCredential } from '../../config/credential.ts';
import { requireBaseUrl, requireCredential } from '../../config/resolve.ts';
import { maskSecret } from '../../config/secret.ts';
import { clientCredentials, tokenCache } from '../connection.ts';
import type { Context } from '../context.ts';
import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';

interface AuthStatus {
  profile: string | null;
  base_url: string | null;
  team_id: string | null;
  team: string;
  credential: {
    type: UsableCredential['type'];
    source: string;
    masked: string;
    /** The origin it was saved for, and is sent to alone; null for one of the environment. */
    origin: string | null;
  } & Partial<ClientStatus>;
}

interface ClientStatus {
  client_id: string;
  token_url: string;
  scope: string | null;
  /** The access token kept on disk; null when there is none. */
  token: { masked: string; expires_at: string; seconds_left: number; scope: string | null } | null;
}

export default defineCommand({
  summary: 'Say who you are signed in as, and where the credential comes from',
  description: 'Asks the service whether it accepts the credential: exit 4 when not.',
  operations: ['getTeam'],
  examples: [{ command: 'aops auth status', text: 'Before something important' }],
  output: recordOutput<AuthStatus>(({ credential, ...status }) => ({
    Service: status.base_url,
    Profile: status.profile,
    Team: `${status.team} (${status.team_id})`,
    Credential: `${credential.masked} from ${credential.source}`,
    Type: credential.type === 'token' ? 'key' : 'OAuth client credentials',
    ...(credential.origin === null ? {} : { 'Sent to': `${credential.origin} only` }),
    ...(credential.token_url === undefined
      ? {}
      : { 'Token URL': credential.token_url, Scope: scopeOf(credential), Token: tokenOf(credential) }),
  })),
  async run(context): Promise<AuthStatus> {
    const config = context.config();
    const given = requireCredential(config);
    const client = await context.client();
    const { team } = await client.call('getTeam', { params: { teamId: context.teamId() } });
    const { name: source, masked = '', origin = null } = config.credential;
    return {
      profile: config.profile.value ?? null,
      base_url: config.base_url.value ?? null,
      team_id: team.id,
      team: team.name,
      credential: {
        type: given.type,
        source,
        masked,
        origin,
        ...(given.type === 'token' ? {} : await clientStatus(context, given)),
      },
    };
  },
});

async function clientStatus(context: Context, given: Extract<UsableCredential, { type: 'client_credentials' }>): Promise<ClientStatus> {
  const client = clientCredentials(given);
  const now = context.clock.now();
  const token = (await tokenCache(context, client, originOf(requireBaseUrl(context.config())))).read(now);
  const { client_id, token_url, scope = null } = client;
  return { client_id, token_url, scope, token: token ? described(token, now) : null };
}

const described = ({ value, expiresAt, scope }: Token, now: number): ClientStatus['token'] => ({
  masked: maskSecret(value),
  expires_at: new Date(expiresAt).toISOString(),
  seconds_left: Math.floor((expiresAt - now) / 1_000),
  scope: scope ?? null,
});

const scopeOf = ({ scope, token }: Partial<ClientStatus>): string => token?.scope ?? scope ?? 'what the client may do by default';

const tokenOf = ({ token }: Partial<ClientStatus>): string =>
  token
    ? `${token.masked}, expires in ${formatDuration(token.seconds_left * 1_000)} (${token.expires_at})`
    : 'none kept: a new one for each command';
