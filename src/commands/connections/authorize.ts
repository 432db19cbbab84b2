import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { openUrl } from '../../cli/desktop/open.ts';
import { length, webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, optionalArgument, text, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { findConnection } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { authorizedSince, changeTimes } from './wait-for-authorization.ts';

interface Authorization {
  authorization_url: string;
  /** With --wait: the connection that was authorized, and its scopes. */
  id: string | null;
  name: string | null;
  oauth_scopes: string[] | null;
}

export default defineCommand({
  summary: 'Authorize a connection to an MCP server with OAuth',
  description:
    'The service registers with the authorization server and returns a URL. Whoever opens it and agrees is redirected to the service, which stores the tokens and renews them. With --wait, the command ends when that has happened. On a terminal, a browser is opened.',
  arguments: { connection: optionalArgument('An existing connection to authorize again, by ID or name', { complete: 'connections' }) },
  options: {
    url: text('URL', 'Authorize this server and create a connection to it', { check: webAddress }),
    name: text('NAME', 'Name of the new connection, used in procedures', { check: length(1, 100) }),
    type: text('TYPE', 'Type of the connection (default: custom_mcp)', { check: length(1, 100) }),
    provider: text('NAME', 'Authorize a provider that is built into the service, instead of an MCP server'),
    returnUrl: text('URL', 'URL to redirect to after the authorization', { check: webAddress }),
    browser: toggle('Open a browser or only print the URL (default: open a browser on a terminal)'),
    wait: flag('Wait until the connection is authorized; limit the wait with --timeout'),
  },
  operations: ['authorizeMcpOAuth', 'startNativeOAuth', 'listConnections', 'getConnection'],
  mutates: true,
  examples: [
    { command: 'aops connections authorize --name crm --url https://crm.example.com/mcp --wait', text: 'Authorize a new connection' },
    { command: 'aops connections authorize crm --wait', text: 'Authorize an existing connection again' },
    { command: 'aops connections authorize crm --no-browser --jq .authorization_url', text: 'Print the URL to send it to someone else' },
  ],
  result: returns({ authorization_url: 'url', id: 'uuid|null', name: 'string|null', oauth_scopes: 'string[]|null' }),
  output: recordOutput<Authorization>(({ authorization_url, id, name, oauth_scopes }) =>
    id === null ? { URL: authorization_url } : { ID: id, Authorized: name, Scopes: oauth_scopes?.join(' ') || undefined },
  ),
  async run(context, input): Promise<Authorization> {
    const { connection: existing, url, name, provider } = input;
    if ([existing, url, provider].filter((one) => one !== undefined).length !== 1)
      throw new UsageError('Specify exactly one thing to authorize.', 'Pass a connection, --url and --name, or --provider.');
    if (url !== undefined && name === undefined) throw new UsageError('The new connection needs a name; pass --name.');
    const client = await context.client();
    const before = input.wait ? await changeTimes(context) : undefined;
    const connection = existing === undefined ? undefined : await findConnection(context, existing);
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

/** The part of the request that specifies what to authorize. */
function target(connection: Connection | undefined, { url, name, type }: Record<'url' | 'name' | 'type', string | undefined>) {
  if (connection === undefined)
    return { mcp_server_url: url as string, name: name as string, ...omitUndefined({ integration_type: type }) };
  if (connection.server_url === undefined)
    throw new UsageError(`The service does not report the address of ${connection.name}.`, 'Pass --url and --name instead.');
  return { mcp_server_url: connection.server_url, name: connection.name, reconnect_instance_id: connection.id };
}

/** Opens the URL, or prints it as a note if it is not the result. */
async function show(context: Context, url: string, { browser, wait }: { browser: boolean | undefined; wait: boolean }): Promise<void> {
  const wantsBrowser = browser ?? (context.terminal.out.isTTY && context.format === 'table');
  if (wantsBrowser && (await openUrl(context, url))) context.terminal.note('Opened the URL in your browser.');
  else if (wait) context.terminal.note(`Open this URL: ${sanitizeLine(url)}`);
  if (wait) context.terminal.note('Waiting for the authorization. Ctrl-C stops waiting without cancelling it.');
}
