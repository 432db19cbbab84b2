import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { shellWord } from '../../base/shell.ts';
import { newClient, oauthCredential, userAgent } from '../../cli/connect/connection.ts';
import { networkTo } from '../../cli/connect/network.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { bearerCredential } from '../../client/access/credential.ts';
import { normaliseBaseUrl, normaliseTokenUrl } from '../../config/base-url.ts';
import { checkScope } from '../../config/secret.ts';
import type { Credential as SavedCredential } from '../../config/store.ts';
import { chooseTeam } from './choose-team.ts';

interface SignedIn {
  profile: string;
  base_url: string;
  team_id: string;
  team: string;
}

export default defineCommand({
  summary: 'Sign in to a service',
  description:
    'Checks the credential with the service and saves it in the profile selected with --profile (default: "default"). It is only ever sent to the address it was saved for. The key (with --client-id, the client secret) is prompted for on a terminal and read from standard input otherwise; it is never an argument. The address comes from --base-url, or is prompted for. Without --team, the only team that the credential can use is selected; if there are several, you choose one.',
  options: {
    clientId: text('ID', 'Sign in with OAuth 2.0 client credentials, as this client'),
    tokenUrl: text('URL', 'URL for access tokens (default: the one the service advertises)'),
    scope: text('WORDS', 'Scope of the access token (default: everything the client is allowed to do)'),
  },
  operations: ['listTeams', 'getTeam'],
  examples: [
    { command: 'aops auth login --base-url https://agents.example.com', text: 'Sign in, prompting for the key' },
    {
      command: 'aops auth login --profile ci --base-url https://agents.example.com --team TEAM < key.txt',
      text: 'Sign in with a key from a file',
    },
    {
      command:
        'aops auth login --base-url https://agents.example.com --team TEAM --client-id ID --token-url https://id.example.com/oauth/token < secret.txt',
      text: 'Sign in as an OAuth client',
    },
  ],
  result: returns({ profile: 'string', base_url: 'url', team_id: 'uuid', team: 'string' }),
  output: textOutput<SignedIn>(({ profile, base_url, team }) => `Signed in to ${base_url} as profile "${profile}" (team ${team}).`),
  async run(context, input): Promise<SignedIn> {
    const config = context.config({ newProfile: true });
    const profile = config.profile.value ?? 'default';
    const baseUrl = config.base_url.value ?? (await ask(context, 'Address of the service (https://...)', '--base-url'));
    const base_url = normaliseBaseUrl(baseUrl, 'The address of the service');
    const credential = await readCredential(context, input, base_url);
    const client = await connectWith(context, base_url, credential);
    try {
      const team = await chooseTeam(context, client, config.team_id.value, () => ask(context, 'Team ID', '--team'));
      await context.store.saveProfile(profile, { base_url, team_id: team.id }, credential);
      await context.store.useProfile(profile);
      return { profile, base_url, team_id: team.id, team: team.name };
    } finally {
      await client.close();
    }
  },
});

interface ClientInput {
  clientId: string | undefined;
  tokenUrl: string | undefined;
  scope: string | undefined;
}

/** The credential to save, from the flags and the prompts. */
async function readCredential(context: Context, { clientId, tokenUrl, scope }: ClientInput, baseUrl: string): Promise<SavedCredential> {
  if (clientId === undefined) {
    const [flag] = Object.entries({ '--token-url': tokenUrl, '--scope': scope }).find(([, value]) => value !== undefined) ?? [];
    if (flag !== undefined) throw new UsageError(`${flag} applies only to client credentials.`, 'Pass --client-id too.');
    return { type: 'token', token: await readSecret(context, { label: 'API key', description: 'a key', pattern: /^[\x21-\x7e]+$/ }) };
  }
  const client_id = clientId.trim();
  if (!/^[\x20-\x7e]+$/.test(client_id)) throw new UsageError('--client-id is empty or contains unprintable characters.');
  const url = tokenUrl ?? (await discover(context, baseUrl)) ?? (await ask(context, 'Token URL (https://...)', '--token-url'));
  return {
    type: 'client_credentials',
    client_id,
    token_url: normaliseTokenUrl(url, '--token-url'),
    ...(scope === undefined ? {} : { scope: checkScope(scope, '--scope') }),
    client_secret: await readSecret(context, { label: 'Client secret', description: 'a client secret', pattern: /^[\x20-\x7e]+$/ }),
  };
}

/**
 * The token URL that the service advertises. The client secret is sent there, so a URL of another origin must be confirmed before the
 * secret is requested. @throws UsageError `token_url_other_origin` if there is no terminal
 */
async function discover(context: Context, baseUrl: string): Promise<string | undefined> {
  const network = await networkTo(context, { urls: [baseUrl], isStored: true });
  const { discoverTokenUrl } = await import('../../client/access/discovery.ts');
  const tokenUrl = await discoverTokenUrl(baseUrl, { userAgent: userAgent(context), network, signal: context.signal });
  if (tokenUrl === undefined) return undefined;
  const url = normaliseTokenUrl(tokenUrl, 'The token URL that the service advertises');
  if (new URL(url).origin === new URL(baseUrl).origin) {
    context.terminal.note(`The service advertises ${url} as its token URL.`);
    return url;
  }
  const message = `The service at ${baseUrl} asks for the client secret to be sent to ${url}, which has a different origin.`;
  if (!context.terminal.interactive) {
    throw new UsageError(message, `If you trust this address, pass --token-url ${shellWord(url)}.`, 'token_url_other_origin');
  }
  if (await context.prompter.confirm({ message: `${message} Do you trust this address?`, initial: false })) return url;
  throw new UsageError('Nothing was sent or saved.', 'Pass the right address with --token-url.', 'token_url_other_origin');
}

/** A client with a credential that is not saved yet. Access tokens fetched for the check are not stored either. */
async function connectWith(context: Context, baseUrl: string, credential: SavedCredential) {
  if (credential.type === 'token') {
    context.terminal.protect(credential.token);
    const network = await networkTo(context, { urls: [baseUrl], isStored: true });
    return newClient(context, baseUrl, bearerCredential(credential.token), network);
  }
  const network = await networkTo(context, { urls: [baseUrl, credential.token_url], isStored: true });
  return newClient(context, baseUrl, await oauthCredential(context, credential, network), network);
}

async function ask(context: Context, label: string, flag: string): Promise<string> {
  if (!context.terminal.interactive)
    throw new UsageError(`${label} is missing, and there is no terminal to prompt on.`, `Pass it with ${flag}.`);
  return (await context.prompter.line({ message: label })).trim();
}

interface SecretInput {
  label: string;
  description: string;
  pattern: RegExp;
}

async function readSecret(context: Context, { label, description, pattern }: SecretInput): Promise<string> {
  const secret = context.terminal.interactive
    ? await context.prompter.password({ message: label })
    : (await context.readStandardInput()).toString('utf8');
  const trimmedSecret = secret.trim();
  if (pattern.test(trimmedSecret)) return trimmedSecret;
  throw new AopsError(`The input is not ${description}: it is empty or contains invalid characters.`, {
    code: 'credential_invalid',
    exit: exitCodes.usage,
    hint: 'Copy it again, without quotes or line breaks.',
  });
}
