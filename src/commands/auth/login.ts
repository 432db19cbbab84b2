import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { bearerCredential } from '../../client/credential.ts';
import { requireBaseUrl } from '../../config/resolve.ts';
import { newClient } from '../connection.ts';
import type { Context } from '../context.ts';
import { defineCommand } from '../define.ts';
import { textOutput } from '../output.ts';

interface SignedIn {
  profile: string;
  base_url: string;
  team_id: string;
  team: string;
}

export default defineCommand({
  summary: 'Save a credential, after checking it with the service',
  description:
    'The key is asked for on a terminal and read from standard input elsewhere; it is never an argument. It is saved for the profile given with --profile (default "default"), and sent to the address it was saved for only. Address and team come from --base-url and --team, or are asked for.',
  operations: ['getTeam'],
  examples: [
    { command: 'aops auth login --base-url https://agents.example.com --team TEAM', text: 'Asks for the key' },
    { command: 'aops auth login --profile ci --base-url https://agents.example.com --team TEAM < key.txt', text: 'In a script' },
  ],
  output: textOutput<SignedIn>(({ profile, base_url, team }) => `Signed in to ${base_url} as profile "${profile}" (team ${team}).`),
  async run(context): Promise<SignedIn> {
    const config = context.config({ newProfile: true });
    const profile = config.profile.value ?? 'default';
    const baseUrl = config.base_url.value ?? (await ask(context, 'Address of the service (https://...)', '--base-url'));
    const team_id = config.team_id.value ?? (await ask(context, 'Team id', '--team'));
    const token = await readKey(context);
    context.terminal.protect(token);
    const base_url = requireBaseUrl({ ...config, base_url: { ...config.base_url, value: baseUrl } });
    const client = await newClient(context, base_url, bearerCredential(token));
    try {
      const { team } = await client.call('getTeam', { params: { teamId: team_id } });
      await context.store.saveProfile(profile, { base_url, team_id }, { type: 'token', token });
      await context.store.useProfile(profile);
      return { profile, base_url, team_id, team: team.name };
    } finally {
      await client.close();
    }
  },
});

async function ask(context: Context, what: string, flag: string): Promise<string> {
  if (!context.terminal.interactive) throw new UsageError(`${what} is not known, and nobody can be asked here.`, `Give it with ${flag}.`);
  return (await context.prompter.input({ message: what })).trim();
}

async function readKey(context: Context): Promise<string> {
  const key = context.terminal.interactive
    ? await context.prompter.password({ message: 'API key' })
    : (await context.readStandardInput()).toString('utf8');
  const trimmed = key.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new AopsError('That is not a key: it is empty, or holds spaces or unprintable characters.', {
    code: 'credential_invalid',
    exit: exitCodes.usage,
    hint: 'Copy the key again, without quotes or line breaks.',
  });
}
