import { UsageError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import { length, webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { choice, flag, text, texts, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { connectionArgument, connectionRecord, findConnection } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';
import { headerOptions, mergedHeaders, readHeaders, sentHeaders } from './headers.ts';

export default defineCommand({
  summary: 'Change a connection',
  description:
    'Headers that are not specified are unchanged. Secrets are stored for one host: if the URL changes to another host, pass them again.',
  arguments: { connection: connectionArgument },
  options: {
    name: text('NAME', 'New name', { check: length(1, 100) }),
    url: text('URL', 'New address of the server', { check: webAddress }),
    ...headerOptions,
    removeHeader: texts('NAME', 'Remove this header; can be repeated'),
    replaceHeaders: flag('Replace all headers with those specified here'),
    authMethod: choice(['url', 'apikey', 'headers', 'oauth'], 'How the service authenticates: url, apikey, headers, or oauth', {
      metavar: 'METHOD',
    }),
    shared: toggle('Whether the whole team can use the connection'),
  },
  operations: ['listConnections', 'getConnection', 'updateConnection'],
  mutates: true,
  examples: [
    { command: 'aops connections update crm --header Authorization=@new-token.txt', text: 'Replace a token' },
    { command: 'aops connections update crm --remove-header X-Debug', text: 'Remove a header' },
  ],
  result: returns('updateConnection'),
  output: recordOutput<Connection>(connectionRecord),
  async run(context, input) {
    if (input.replaceHeaders && input.removeHeader.length > 0)
      throw new UsageError('--replace-headers and --remove-header cannot be combined.');
    const fields = omitUndefined({ name: input.name, server_url: input.url, auth_method: input.authMethod, shared: input.shared });
    const touchesHeaders = input.replaceHeaders || [...input.header, ...input.plainHeader, ...input.removeHeader].length > 0;
    if (Object.keys(fields).length === 0 && !touchesHeaders)
      throw new UsageError(
        'There is nothing to change.',
        'Pass --name, --url, --header, --plain-header, --remove-header, or another flag.',
      );
    const client = await context.client();
    const connection = await findConnection(context, input.connection);
    const newHeaders = await readHeaders(context, input);
    const headers = input.replaceHeaders ? newHeaders : mergedHeaders(connection, newHeaders, input.removeHeader);
    const body = { ...fields, ...(headers === undefined ? {} : { headers: sentHeaders(context, headers) }) };
    return client.call('updateConnection', { params: { connection_id: connection.id }, body }, { confidential: true });
  },
});
