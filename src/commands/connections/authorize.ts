import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { openBrowser } from '../../cli/desktop/browser.ts';
import { length, webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, optionalArgument, text, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { findConnection } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';
import { authorizedSince, changeTimes } from './wait-for-authorization.ts';

interface Authorization {
  authorization_url: string;
  /** With --wait: what was authorized, and for what. */
  id: string | null;
  name: string | null;
  oauth_scopes: string[] | null;
}

export default defineCommand({
  summary: 'Let a person authorize an MCP server, for a new connection or again',
  description:
    'The service registers itself with the authorization server and gives a URL; the person who opens it and agrees is led back to the service, which keeps the tokens and renews them. With --wait the command ends when that has happened. On a terminal a browser is opened.',
  arguments: { connection: optionalArgument('A connection that there is, by id or name, to authorize again', { complete: 'connections' }) },
  options: {
    url: text('URL', 'Authorize this server, and make a connection to it', { check: webAddress }),
    name: text('NAME', 'What procedures call the new connection', { check: length(1, 100) }),
    type: text('TYPE', 'What kind of connection it is (default custom_mcp)', { check: length(1, 100) }),
    provider: text('NAME', 'Authorize a provider that the service knows itself, instead of an MCP server'),
    returnUrl: text('URL', 'Where the person goes in the end', { check: webAddress }),
    browser: toggle('Open a browser, or only print the URL (default: a browser on a terminal)'),
    wait: flag('Wait until the person has authorized it; limit that with --timeout'),
  },
  operations: ['authorizeMcpOAuth', 'startNativeOAuth', 'listConnections', 'getConnection'],
  mutates: true,
  examples: [
    { command: 'aops connections authorize --name crm --url https://crm.example.com/mcp --wait', text: 'A new connection' },
    { command: 'aops connections authorize crm --wait', text: 'One whose authorization has ended' },
    { command: 'aops connections authorize crm --no-browser --jq .authorization_url', text: 'A URL to send to somebody' },
  ],
  result: returns({ authorization_url: 'url', id: 'uuid|null', name: 'string|null', oauth_scopes: 'string[]|null' }),
  output: recordOutput<Authorization>(({ authorization_url, id, name, oauth_scopes }) =>
    id === null ? { URL: authorization_url } : { ID: id, Authorized: name, Scopes: oauth_scopes?.join(' ') || undefined },
  ),
  async run(context, input): Promise<Authorization> {
    const { connection: again, url, name, provider } = input;
    if ([again, url, provider].filter((one) => one !== undefined).length !== 1)
      throw new UsageError('One thing can be authorized at a time.', 'Give a connection, or --url and --name, or --provider.');
    if (url !== undefined && name === undefined) throw new UsageError('The new connection needs a --name.');
    const client = await context.client();
    const before = input.wait ? await changeTimes(context) : undefined;
    const connection = again === undefined ? undefined : await findConnection(context, again);
    const ends = omitUndefined({ return_url: input.returnUrl });
    const params = { teamId: context.teamId() };
    const { authorization_url } =
      provider === undefined
        ? await client.call('authorizeMcpOAuth', { params, body: { ...target(connection, input), ...ends } })
        : await client.call('startNativeOAuth', { params: { ...params, provider }, body: ends });
    await show(context, authorization_url, input);
    if (before === undefined) return { authorization_url, id: null, name: null, oauth_scopes: null };
    const done = await authorizedSince(context, before, { id: connection?.id, name });
    return { authorization_url, id: done.id, name: done.name, oauth_scopes: done.oauth_scopes ?? null };
  },
});

/** What is to be authorized, as the service takes it. */
function target(connection: Connection | undefined, { url, name, type }: Record<'url' | 'name' | 'type', string | undefined>) {
  if (connection === undefined)
    return { mcp_server_url: url as string, name: name as string, ...omitUndefined({ integration_type: type }) };
  if (connection.server_url === undefined)
    throw new UsageError(`The service does not say where ${connection.name} is.`, 'Give --url and --name.');
  return { mcp_server_url: connection.server_url, name: connection.name, reconnect_instance_id: connection.id };
}

/** Opens the URL, or says it where it is not the result. */
async function show(context: Context, url: string, { browser, wait }: { browser: boolean | undefined; wait: boolean }): Promise<void> {
  const wanted = browser ?? (context.terminal.out.isTTY && context.format === 'table');
  if (wanted && /^https?:/.test(url) && (await openBrowser(context, url))) context.terminal.note('Opened it in your browser.');
  else if (wait) context.terminal.note(`Open this URL: ${url}`);
  if (wait) context.terminal.note('Waiting for the authorization; Ctrl-C ends the waiting alone.');
}
