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
  summary: 'Settle a change whose outcome is unknown, or list those there are',
  description:
    'A change that ended with exit 13, or that Ctrl-C or --timeout cut off, may or may not have been carried out. KEY is the one the message named. The same request is sent again with the same key: the service carries it out now, or answers with what it did then. Changes are remembered for 23 hours.',
  arguments: { key: optionalArgument('The key that the message named; without it, all are listed') },
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
    { command: 'aops retry', text: 'What is open' },
    { command: 'aops retry aops-6f1c0a51-6c6e-4b0e-9f0e-0d4d4f3a2b11', text: 'Settle one' },
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
      empty: 'No change is open.',
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
      // Of a command that makes several, this is one: what would have come after it was never sent.
      context.terminal.note(
        `Settled: ${entry.method} ${entry.path}. A command that makes more changes than that goes on when it is run again with --idempotency-key ${entry.command_key}.`,
      );
    }
    return answer;
  },
});

/** A change that cannot be settled from here: at another service, and with another credential, its key is another one. */
const notOwn = (entry: JournalEntry, baseUrl: string, credential: string): UsageError =>
  entry.base_url === baseUrl
    ? new UsageError(
        `The change was sent with the credential ${entry.credential}, and this is ${credential}: keys are kept for each, so it could be carried out twice.`,
        'Choose the profile or the key it was made with. Without them, look whether it was carried out before you repeat it.',
      )
    : new UsageError(
        `The change was sent to ${entry.base_url}, and this profile is for ${baseUrl}.`,
        'Choose the profile it was made with: --profile NAME.',
      );

async function resend(client: Client, entry: JournalEntry): Promise<unknown> {
  const response = await client.send(requestOf(entry), { keys: { key: entry.key, commandKey: entry.command_key } });
  return response.body.length === 0 ? undefined : (JSON.parse(response.body.toString('utf8')) as unknown);
}

const notOpen = (key: string): AopsError =>
  new AopsError(`No change is open under the key ${key}.`, {
    code: 'change_not_open',
    exit: exitCodes.notFound,
    hint: 'It has been settled, or it is too old to send again. `aops retry` lists what is open.',
  });
