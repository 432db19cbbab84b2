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
    'Headers that are not named stay as they are. Secrets are kept for the host they were given for: with a URL on another one, give them again.',
  arguments: { connection: connectionArgument },
  options: {
    name: text('NAME', 'Call it this', { check: length(1, 100) }),
    url: text('URL', 'Where the server answers', { check: webAddress }),
    ...headerOptions,
    removeHeader: texts('NAME', 'Send this header no more; may be repeated'),
    replaceHeaders: flag('Send the headers given here, and no others'),
    authMethod: choice(['url', 'apikey', 'headers', 'oauth'], 'What lets in: url, apikey, headers or oauth', { metavar: 'METHOD' }),
    shared: toggle('Whether others of the team may use it'),
  },
  operations: ['listConnections', 'getConnection', 'updateConnection'],
  mutates: true,
  examples: [
    { command: 'aops connections update crm --header Authorization=@new-token.txt', text: 'A new token' },
    { command: 'aops connections update crm --remove-header X-Debug', text: 'One header less' },
  ],
  result: returns('updateConnection'),
  output: recordOutput<Connection>(connectionRecord),
  async run(context, input) {
    if (input.replaceHeaders && input.removeHeader.length > 0)
      throw new UsageError('--replace-headers and --remove-header exclude each other.');
    const fields = omitUndefined({ name: input.name, server_url: input.url, auth_method: input.authMethod, shared: input.shared });
    const touchesHeaders = input.replaceHeaders || [...input.header, ...input.plainHeader, ...input.removeHeader].length > 0;
    if (Object.keys(fields).length === 0 && !touchesHeaders)
      throw new UsageError('There is nothing to change.', 'Give --name, --url, --header, --plain-header, --remove-header or another flag.');
    const client = await context.client();
    const connection = await findConnection(context, input.connection);
    const named = await readHeaders(context, input);
    const headers = input.replaceHeaders ? named : mergedHeaders(connection, named, input.removeHeader);
    const body = { ...fields, ...(headers === undefined ? {} : { headers: sentHeaders(context, headers) }) };
    return client.call('updateConnection', { params: { connection_id: connection.id }, body }, { confidential: true });
  },
});
