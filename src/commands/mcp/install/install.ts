import { existsSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../../base/errors.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { type CommandInput, flag, requiredChoice, text, toggle } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { homeFolder } from '../../../config/paths.ts';
import { serverEntry } from '../entry.ts';
import { policyArguments, policyOptions } from '../policy-flags.ts';
import { previewChange } from './change-preview.ts';
import { configFile, type McpClient, mcpClientIds, mcpClients } from './clients.ts';
import { parseConfig, withoutServer, withServer } from './edit.ts';
import { readConfig, replaceConfig } from './files.ts';

const options = {
  client: requiredChoice(mcpClientIds, `The client to configure: ${mcpClientIds.join(', ')}`, { metavar: 'CLIENT' }),
  name: text('NAME', 'Name of the server in the client (default: aops)', { check: serverName }),
  project: flag('Change the file of the project in the current folder, instead of your own'),
  file: text('FILE', 'Change this file instead', { complete: 'files' }),
  absolute: toggle('Use the absolute path of aops (default: for desktop applications and on Windows)'),
  ...policyOptions,
  uninstall: flag('Remove the server'),
  dryRun: flag('Show the change, and change nothing'),
} as const;

type Input = CommandInput<Record<never, never>, typeof options>;

interface Installed {
  client: string;
  file: string;
  changed: boolean;
  backup: string | null;
}

export default defineCommand({
  summary: 'Add this service to an MCP client',
  description:
    'Finds the configuration file of the client, shows the change, and asks for confirmation; without a terminal, pass --yes. The client then starts `aops mcp serve` with the profile, so the file contains no secret. Everything else in the file stays, including comments, and a copy of the previous file is stored next to it. Values that could be secrets are hidden in the change that is shown. Installing twice changes nothing; an existing entry is updated.',
  options,
  examples: [
    { command: 'aops mcp install --client claude-code', text: 'Let Claude Code use the selected profile' },
    { command: 'aops mcp install --client cursor --project --read-only', text: 'Configure a project, with tools that change nothing' },
    { command: 'aops mcp install --client codex --dry-run', text: 'Show the change without making it' },
    { command: 'aops mcp install --client vscode --uninstall --yes', text: 'Remove it again, in a script' },
  ],
  result: returns({ client: 'string', file: 'string', changed: 'boolean', backup: 'string|null' }),
  output: recordOutput<Installed>(({ file, changed, backup }) => ({ File: file, Changed: changed, Backup: backup ?? undefined })),
  async run(context, input) {
    const client: McpClient = mcpClients[input.client];
    const file = locate(context, client, input);
    const before = readConfig(file);
    const edit = { file, format: client.format, servers: client.servers, name: input.name ?? 'aops' };
    const after = input.uninstall
      ? withoutServer(before.text, edit)
      : withServer(before.text, client.entryOf(entryFor(context, client, input)), edit);
    const result = { client: input.client, file, changed: after !== before.text, backup: null };
    if (!result.changed) {
      context.terminal.note(input.uninstall ? `${client.name} has no server "${edit.name}".` : `${client.name} already has this server.`);
      return result;
    }
    const exists = before.bytes !== undefined;
    const document = parseConfig(before.text, client.format);
    context.terminal.note((await previewChange({ file, before: before.text, after, exists, document })).trimEnd());
    if (input.dryRun) {
      context.terminal.note('Nothing was changed, because of --dry-run.');
      return { ...result, changed: false };
    }
    await confirm(context, `Change ${file}?`);
    const stamp = new Date(context.clock.now()).toISOString().replaceAll(/[-:.]/g, '');
    const backup = replaceConfig(before, after, stamp) ?? null;
    context.terminal.note(input.uninstall ? `Removed "${edit.name}" from ${client.name}.` : client.next);
    return { ...result, backup };
  },
});

/** @throws UsageError if the client has no file for projects, or there are two locations */
function locate({ env, launcher, cwd }: Context, client: McpClient, input: Input): string {
  if (input.file !== undefined && input.project) throw new UsageError('--file and --project cannot be combined.');
  if (input.file !== undefined) return path.resolve(cwd, input.file);
  const home = homeFolder(env, launcher.platform);
  if (home === undefined)
    throw new UsageError(
      `You have no home directory, which contains the configuration of ${client.name}.`,
      'Set HOME, or specify the file with --file.',
    );
  const machine = { env, home, platform: launcher.platform, cwd };
  const file = configFile(client, machine, input.project, existsSync);
  if (file !== undefined) return file;
  throw new UsageError(`${client.name} has no configuration for projects.`, 'Leave out --project to change your own configuration.');
}

/** @throws UsageError without a profile: the client would start aops without a credential */
function entryFor(context: Context, client: McpClient, input: Input) {
  if (context.config().profile.value === undefined)
    throw new UsageError(
      'No profile is selected, so the client could not sign in.',
      'Create one with `aops auth login`, or select one with --profile. Variables of this shell do not reach the client.',
    );
  const absolute = input.absolute ?? (context.launcher.platform === 'win32' || client.desktop === true);
  return serverEntry(context, absolute, policyArguments(input));
}

function serverName(value: string, name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(value)) return value;
  throw new UsageError(`${name} must be 1 to 64 letters, digits, hyphens, and underscores, not "${value}".`);
}
