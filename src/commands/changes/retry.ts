import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isOwn, openChanges } from '../../cli/connect/journal.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, rawOutput, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { Client } from '../../client/client.ts';
import { type JournalEntry, requestOf } from '../../client/journal.ts';
import { credentialName } from '../../config/credential.ts';

interface OpenChange {
  id: string;
  method: string;
  path: string;
  base_url: string;
  sent_at: string;
}

export default defineCommand({
  summary: 'Settle changes whose outcome is unknown, or list them',
  description:
    'When a change ends with exit 13 or is cut off by Ctrl-C or --timeout, it is unknown whether the service carried it out. This command sends the same request again with the same idempotency key: the service either carries it out now, or returns the result from the first time. KEY is in the message of the interrupted command. Changes can be settled for 23 hours.',
  arguments: { key: optionalArgument('The key from the message of the interrupted command; without it, all open changes are listed') },
  exits: [
    exitCodes.notFound,
    exitCodes.auth,
    exitCodes.forbidden,
    exitCodes.conflict,
    exitCodes.rateLimited,
    exitCodes.unavailable,
    exitCodes.timeout,
    exitCodes.outcomeUnknown,
  ],
  examples: [
    { command: 'aops retry', text: 'List open changes' },
    { command: 'aops retry aops-6f1c0a51-6c6e-4b0e-9f0e-0d4d4f3a2b11', text: 'Settle a change' },
  ],
  result: returns({ id: 'string', method: 'string', path: 'string', base_url: 'url', sent_at: 'date-time' }),
  output: rawOutput(
    listOutput<OpenChange>({
      columns: [
        column('KEY', (change) => change.id),
        column('METHOD', (change) => change.method),
        column('PATH', (change) => change.path, { shrink: true }),
        column('SERVICE', (change) => change.base_url, { shrink: true }),
        timeColumn('SENT', (change) => change.sent_at),
      ],
      empty: 'There are no open changes.',
    }),
  ),
  async run(context, input): Promise<unknown> {
    const open = await openChanges(context);
    if (input.key === undefined) {
      return wholeList(
        open.map(({ command_key, method, path, base_url, sent_at }): OpenChange => ({ id: command_key, method, path, base_url, sent_at })),
      );
    }
    const entries = open.filter(({ key, command_key }) => key === input.key || command_key === input.key);
    if (entries.length === 0) throw notOpen(input.key);
    const client = await context.client();
    const credential = credentialName(context.config().credential);
    const own = entries.filter((entry) => isOwn(entry, client.baseUrl, credential));
    if (own.length === 0) throw notOwn(entries[0] as JournalEntry, client.baseUrl, credential);
    let answer: unknown;
    for (const entry of own) {
      answer = await resend(client, entry);
      // If the command makes several changes, this is one of them; those after it were never sent.
      context.terminal.note(
        `Settled: ${entry.method} ${entry.path}. If the command makes more changes, run it again with --idempotency-key ${entry.command_key} to make the remaining ones.`,
      );
    }
    return answer;
  },
});

/** A change that was sent to another service or with another credential, where its key means something else. */
const notOwn = (entry: JournalEntry, baseUrl: string, credential: string): UsageError =>
  entry.base_url === baseUrl
    ? new UsageError(
        `The change was sent with the credential ${entry.credential}, but you are using ${credential}. Keys belong to one credential, so the change could be carried out twice.`,
        'Use the profile or the key that it was sent with. If you no longer have it, check whether the change was carried out before you repeat it.',
      )
    : new UsageError(
        `The change was sent to ${entry.base_url}, but this profile uses ${baseUrl}.`,
        'Select the profile that it was sent with: --profile NAME.',
      );

async function resend(client: Client, entry: JournalEntry): Promise<unknown> {
  const response = await client.send(requestOf(entry), { keys: { key: entry.key, commandKey: entry.command_key } });
  return response.body.length === 0 ? undefined : (JSON.parse(response.body.toString('utf8')) as unknown);
}

const notOpen = (key: string): AopsError =>
  new AopsError(`There is no open change with the key ${key}.`, {
    code: 'change_not_open',
    exit: exitCodes.notFound,
    hint: 'It was settled already, is too old to be sent again, or was not saved, like changes with secrets or large files. `aops retry` lists open changes.',
  });
