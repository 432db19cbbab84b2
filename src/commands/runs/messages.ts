import { UsageError } from '../../base/errors.ts';
import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { integer } from '../../cli/kit/flags.ts';
import { listFlags, RowList, rowList } from '../../cli/kit/list.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { messageList } from '../../cli/records/message-list.ts';
import type { Client } from '../../client/client.ts';
import { type Page, pagedBatches, shrinking } from '../../client/paging.ts';
import type { RunMessage } from '../../interface/types.ts';

/** The largest `limit` of listRunMessages. */
const pageSize = 50;
/** The default number of messages. */
const defaultCount = 20;

const wholeConversation = 'the page shows the whole conversation';
const notOnPage = { tail: wholeConversation, limit: wholeConversation, offset: wholeConversation } as const;

export default defineCommand({
  summary: 'List the latest messages of a run in order',
  description:
    'By default, the last 20 messages are listed. --all lists the whole conversation. --offset counts from its beginning, so `--offset 0 --limit 5` lists the first five messages.',
  arguments: { run: runArgument },
  options: { ...listFlags, tail: integer('N', 'Number of latest messages; the same as --limit', { minimum: 1 }), ...webFlag },
  operations: ['listRunMessages', 'createPageCode'],
  examples: [
    { command: 'aops runs messages @latest', text: 'List the latest messages of the newest run' },
    { command: 'aops runs messages 17 --all', text: 'List the whole conversation of a run' },
    {
      command: 'aops runs messages RUN --all --jq \'.data[] | select(.role == "assistant") | .text_content\'',
      text: 'Print what the agent said',
    },
  ],
  result: returns('listRunMessages.messages[]'),
  output: messageList,
  async run(context, input) {
    const { tail, limit, offset, all } = input;
    if (tail !== undefined && (limit !== undefined || offset !== undefined || all))
      throw new UsageError('--tail cannot be combined with --limit, --offset, or --all.', '--tail alone lists the latest messages.');
    if (input.web) refuseWithWeb(input, notOnPage);
    const client = await context.client();
    const run = await runId(context, input.run);
    if (input.web) return openTeamPage(context, `/runs/${run}`);
    const readPage = pagesOf(client, run);
    return all || offset !== undefined ? rowList(input, readPage, pageSize) : newest(readPage, tail ?? limit ?? defaultCount);
  },
});

type ReadPage = (limit: number, offset: number) => Promise<Page<RunMessage>>;

const pagesOf =
  (client: Client, run_id: string): ReadPage =>
  async (limit, offset) => {
    const page = await client.call('listRunMessages', { params: { run_id }, query: { limit, offset } });
    return { items: page.messages, total: page.total };
  };

/** The latest messages in order. The total is known after the first page, which is enough for a short conversation. */
function newest(readPage: ReadPage, count: number): RowList<RunMessage> {
  const rows = async function* (list: RowList<RunMessage>): AsyncGenerator<RunMessage[], void, undefined> {
    const first = await shrinking(readPage)(Math.min(pageSize, count), 0);
    list.total = first.total;
    list.offset = Math.max(0, first.total - count);
    if (first.items.length >= first.total) return yield first.items;
    const countedPage: ReadPage = async (limit, offset) => {
      const page = await readPage(limit, offset);
      list.total = page.total;
      return page;
    };
    yield* pagedBatches(countedPage, pageSize, { limit: count, offset: list.offset });
  };
  const list = new RowList(rows, count, 0);
  list.newest = true;
  return list;
}
