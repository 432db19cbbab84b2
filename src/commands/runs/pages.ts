import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import type { BrowserSessionPage } from '../../interface/types.ts';
import { agentAndRun } from './agent-run.ts';

export default defineCommand({
  summary: 'List the pages open in the browser session of a run',
  description: 'If the terminal supports links, pages and screenshots can be opened from the table.',
  arguments: { run: runArgument },
  operations: ['getRun', 'getRunDetail', 'listBrowserSessionPages'],
  examples: [{ command: 'aops runs pages @latest', text: 'List the open pages of the newest run' }],
  result: returns('listBrowserSessionPages.pages[]'),
  output: listOutput<BrowserSessionPage>({
    columns: [
      column('TITLE', (page) => page.title, { shrink: true, link: (page) => page.url }),
      column('URL', (page) => page.url, { shrink: true, min: 20, link: (page) => page.url }),
      column('SCREENSHOT', (page) => page.screenshot_url, { shrink: true, link: (page) => page.screenshot_url }),
    ],
    empty: 'The run has no browser session.',
  }),
  async run(context, input) {
    const client = await context.client();
    const detail = await client.call('getRunDetail', { params: await agentAndRun(context, input.run) });
    if (detail.bb_session_id === null) return wholeList<BrowserSessionPage>([]);
    return wholeList((await client.call('listBrowserSessionPages', { params: { session_id: detail.bb_session_id } })).pages);
  },
});
