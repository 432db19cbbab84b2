import path from 'node:path';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag, optionalArgument, text } from '../../cli/kit/flags.ts';
import { RowList, wholeList } from '../../cli/kit/list.ts';
import { column, idColumn, listOutput, sizeColumn, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import type { Client } from '../../client/client.ts';
import { pagedRows } from '../../client/paging.ts';
import { LocalFolder } from '../../client/transfers/local-files.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { saveDownloads } from './save-downloads.ts';

interface RunFile {
  id: string;
  name: string;
  mime_type: string | null;
  size: number | null;
  created_at: string;
}

export default defineCommand({
  summary: 'List or download the files that a run recorded',
  description: 'Recorded files are, for example, screenshots. For the files in the sandbox, see `aops sandbox ls`.',
  arguments: { run: runArgument, file: optionalArgument('The ID of the file to download') },
  options: {
    to: text('DIR', 'Folder to download into (default: the current folder)', { complete: 'directories' }),
    force: flag('Overwrite an existing file'),
  },
  operations: ['listRunMessages', 'downloadRunFile'],
  examples: [
    { command: 'aops runs files @latest', text: 'List the recorded files of the newest run' },
    { command: 'aops runs files RUN FILE --to shots', text: 'Download a file' },
  ],
  result: returns({ id: 'string', name: 'string', mime_type: 'string|null', size: 'integer|null', created_at: 'date-time' }),
  output: listOutput<RunFile>({
    columns: [
      idColumn((file) => file.id),
      column('NAME', (file) => file.name, { shrink: true }),
      column('TYPE', (file) => file.mime_type),
      sizeColumn('SIZE', (file) => file.size),
      timeColumn('CREATED', (file) => file.created_at),
    ],
    empty: 'The run recorded no files.',
  }),
  async run(context, input) {
    const client = await context.client();
    const id = await runId(context, input.run);
    if (input.file === undefined) return new RowList<RunFile>((list) => recordedFiles(client, id, list), Number.MAX_SAFE_INTEGER, 0);
    const { file_id, name, mime_type, size, created_at, download_url } = await client.call('downloadRunFile', {
      params: { run_id: id, file_id: input.file },
    });
    const folder = new LocalFolder(path.resolve(context.cwd, input.to ?? '.'));
    await saveDownloads(context, folder, [{ name, size, withUrl: (save) => save(download_url) }], input.force);
    context.terminal.note(`Saved ${sanitizeLine(folder.target(name))}`);
    return wholeList([{ id: file_id, name, mime_type, size, created_at }]);
  },
});

/** Finds the recorded files in the messages of the run: the result of the tool call that created a file contains its ID. */
async function* recordedFiles(client: Client, id: string, list: RowList<RunFile>): AsyncGenerator<RunFile[], void, undefined> {
  const messages = pagedRows(async (limit, offset) => {
    const page = await client.call('listRunMessages', { params: { run_id: id }, query: { limit, offset } });
    return { items: page.messages, total: page.total };
  }, 50);
  for await (const { tool_result, timestamp } of messages) {
    const result = tool_result?.result as { file_id?: unknown; name?: unknown; mime_type?: unknown; size?: unknown } | undefined;
    if (typeof result?.file_id !== 'string') continue;
    list.total += 1;
    const file = {
      id: result.file_id,
      name: String(result.name ?? result.file_id),
      mime_type: typeof result.mime_type === 'string' ? result.mime_type : null,
      size: typeof result.size === 'number' ? result.size : null,
      created_at: timestamp,
    };
    yield [file];
  }
}
