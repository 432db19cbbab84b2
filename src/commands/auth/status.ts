import { formatDuration } from '../../base/duration.ts';
import { clientCredentials, tokenCache } from '../../cli/connect/connection.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Token } from '../../client/access/token-cache.ts';
import type { Client } from '../../client/client.ts';
import { originOf } from '../../config/base-url.ts';
import type { UsableCredential } from '../../config/credential.ts';
import { requireBaseUrl, requireCredential } from '../../config/resolve.ts';
import { maskSecret } from '../../config/secret.ts';
import { isNotOffered } from './not-offered.ts';

interface AuthStatus {
  profile: string | null;
  base_url: string | null;
  team_id: string | null;
  team: string;
  credential: {
    type: UsableCredential['type'];
    source: string;
    masked: string;
    /** The only origin it is sent to, which is the one it was saved for; null for a credential from the environment. */
    origin: string | null;
    /** What the service reports about it; null if the service does not report this. */
    access: KnownAccess | null;
  } & Partial<ClientStatus>;
}

interface KnownAccess {
  name: string;
  /** Null for full access. */
  scopes: string[] | null;
  expires_at: string | null;
  /** Whether it manages the teams and credentials of a local service. */
  owner: boolean;
}

interface ClientStatus {
  client_id: string;
  token_url: string;
  scope: string | null;
  /** The access token stored on disk, if any. */
  token: { masked: string; expires_at: string; seconds_left: number; scope: string | null } | null;
}

export default defineCommand({
  summary: 'Show the credential in use and where it comes from',
  description: 'Checks with the service that the credential is accepted; if not, the exit code is 4.',
  operations: ['getTeam', 'getLocalCredential'],
  examples: [{ command: 'aops auth status', text: 'Check that you are signed in' }],
  result: returns({
    profile: 'string|null',
    base_url: 'url|null',
    team_id: 'uuid|null',
    team: 'string',
    credential: { type: 'token|client_credentials', source: 'string', masked: 'string', origin: 'url|null', access: 'object|null' },
  }),
  output: recordOutput<AuthStatus>(({ credential, ...status }) => ({
    Service: status.base_url,
    Profile: status.profile,
    Team: `${status.team} (${status.team_id})`,
    Credential: `${credential.masked} from ${credential.source}`,
    Type: credential.type === 'token' ? 'key' : 'OAuth client credentials',
    ...(credential.origin === null ? {} : { 'Sent to': `${credential.origin} only` }),
    ...accessFields(credential),
    ...(credential.token_url === undefined ? {} : { 'Token URL': credential.token_url, Token: tokenOf(credential) }),
  })),
  async run(context): Promise<AuthStatus> {
    const config = context.config();
    const used = requireCredential(config);
    const client = await context.client();
    const { team } = await client.call('getTeam', { params: { teamId: context.teamId() } });
    const { name: source, masked = '', origin = null } = config.credential;
    return {
      profile: config.profile.value ?? null,
      base_url: config.base_url.value ?? null,
      team_id: team.id,
      team: team.name,
      credential: {
        type: used.type,
        source,
        masked,
        origin,
        access: await knownAccess(client),
        ...(used.type === 'token' ? {} : await clientStatus(context, used)),
      },
    };
  },
});

/** Only a local service reports this. */
async function knownAccess(client: Client): Promise<KnownAccess | null> {
  try {
    const { credential } = await client.call('getLocalCredential', {});
    const { name, scopes, expires_at, owner } = credential;
    return { name, scopes, expires_at, owner };
  } catch (error) {
    if (isNotOffered(error)) return null;
    throw error;
  }
}

function accessFields({ access, ...credential }: AuthStatus['credential']): Record<string, unknown> {
  if (access === null) return credential.token_url === undefined ? {} : { Scope: scopeOf(credential) ?? 'the default of the client' };
  const { name, scopes, owner, expires_at } = access;
  const scopeText = scopes?.join(' ') ?? (owner ? 'full access, including teams and credentials' : 'full access');
  return { Name: name, Scope: scopeOf(credential) ?? scopeText, ...(expires_at === null ? {} : { Expires: time(expires_at) }) };
}

async function clientStatus(context: Context, used: Extract<UsableCredential, { type: 'client_credentials' }>): Promise<ClientStatus> {
  const client = clientCredentials(used);
  const now = context.clock.now();
  const token = (await tokenCache(context, client, originOf(requireBaseUrl(context.config())))).read(now);
  const { client_id, token_url, scope = null } = client;
  return { client_id, token_url, scope, token: token ? describeToken(token, now) : null };
}

const describeToken = ({ value, expiresAt, scope }: Token, now: number): ClientStatus['token'] => ({
  masked: maskSecret(value),
  expires_at: new Date(expiresAt).toISOString(),
  seconds_left: Math.floor((expiresAt - now) / 1_000),
  scope: scope ?? null,
});

/** The scope that was granted or, failing that, requested. */
const scopeOf = ({ scope, token }: Partial<ClientStatus>): string | undefined => token?.scope ?? scope ?? undefined;

const tokenOf = ({ token }: Partial<ClientStatus>): string =>
  token
    ? `${token.masked}, expires in ${formatDuration(token.seconds_left * 1_000)} (${token.expires_at})`
    : 'not stored: each command fetches a new one';
