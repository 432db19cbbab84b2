import { UsageError } from '../../base/errors.ts';
import { uuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag, integer, text } from '../../cli/kit/flags.ts';
import { RowList } from '../../cli/kit/list.ts';
import { column, listOutput, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { ArtifactMessage } from '../../interface/types.ts';
import { artifactArgument, artifactId } from './record.ts';

/** How many messages are read at a time. */
const pageSize = 500;

export default defineCommand({
  summary: 'List the latest messages of an artifact in order',
  arguments: { artifact: artifactArgument },
  options: {
    limit: integer('N', 'Maximum number of messages (default: 20)', { minimum: 1, maximum: pageSize }),
    before: text('MESSAGE', 'Only messages before the one with this ID', { check: uuid }),
    all: flag('List all messages'),
  },
  operations: ['listArtifacts', 'listArtifactMessages'],
  examples: [
    { command: 'aops artifacts messages @latest', text: 'List the requests and replies' },
    { command: 'aops artifacts messages ARTIFACT --jq .data[-1].content', text: 'Print the last message' },
  ],
  result: returns('listArtifactMessages.data[]'),
  output: listOutput<ArtifactMessage>({
    columns: [
      timeColumn('TIME', (message) => message.created_at),
      column('ROLE', (message) => message.role),
      column('MESSAGE', (message) => message.content, { shrink: true, min: 20 }),
    ],
    empty: 'There are no messages.',
  }),
  async run(context, input) {
    if (input.all && input.limit !== undefined) throw new UsageError('--all and --limit cannot be combined.');
    const client = await context.client();
    const params = { artifactId: await artifactId(context, input.artifact) };
    const read = (limit: number, before: string | undefined) =>
      client.call('listArtifactMessages', { params, query: { limit, ...(before === undefined ? {} : { before }) } });
    return new RowList<ArtifactMessage>(
      async function* (list) {
        let page = await read(input.all ? pageSize : list.limit, input.before);
        list.total = page.total;
        let rows = page.data;
        // Messages can only be read backwards from the end. A page can be shorter than its limit.
        while (page.has_more && page.data[0] && (input.all || rows.length < list.limit)) {
          page = await read(input.all ? pageSize : list.limit - rows.length, page.data[0].id);
          rows = [...page.data, ...rows];
        }
        yield rows;
      },
      input.all ? Number.MAX_SAFE_INTEGER : (input.limit ?? 20),
      0,
    );
  },
});
