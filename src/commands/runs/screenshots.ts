import path from 'node:path';
import { LocalFolder } from '../../client/transfers/local-files.ts';
import type { ScreenshotToolExecution } from '../../interface/types.ts';
import { argument, defineCommand, flag, text } from '../define.ts';
import { wholeList } from '../list.ts';
import { column, listOutput, timeColumn } from '../output.ts';
import { agentId, runId } from '../resolve.ts';
import { saveDownloads } from './save-downloads.ts';

const moments = [
  ['before', 'beforeScreenshot'],
  ['after', 'afterScreenshot'],
] as const;

export default defineCommand({
  summary: 'List the screenshots of a run in order, or save them',
  arguments: { run: argument('The run, or @latest', { complete: 'runs' }) },
  options: {
    agent: text('ID|NAME', "Ask for the run of this agent: another agent's is not found", { complete: 'agents' }),
    save: text('DIR', 'Save the pictures into this folder', { complete: 'directories' }),
    force: flag('Replace pictures that are there'),
  },
  operations: ['getRunScreenshotTimeline', 'getAgentRunScreenshotTimeline', 'listAgents'],
  examples: [
    { command: 'aops runs screenshots @latest', text: 'What there is' },
    { command: 'aops runs screenshots @latest --save shots', text: 'Save the pictures' },
  ],
  output: listOutput<ScreenshotToolExecution>({
    columns: [
      timeColumn('TIME', (execution) => execution.startedAt),
      column('TOOL', (execution) => execution.toolName),
      column('ACTION', (execution) => execution.action, { shrink: true }),
      column('PICTURES', (execution) => moments.flatMap(([name, key]) => (execution[key] ? [name] : [])).join(', '), {
        link: (execution) => execution.afterScreenshot?.signedUrl ?? execution.beforeScreenshot?.signedUrl,
      }),
    ],
    empty: 'The run has no screenshots.',
  }),
  async run(context, input) {
    const client = await context.client();
    const run_id = await runId(context, input.run);
    const { data } =
      input.agent === undefined
        ? await client.call('getRunScreenshotTimeline', { params: { run_id } })
        : await client.call('getAgentRunScreenshotTimeline', { params: { agent_id: await agentId(context, input.agent), run_id } });
    if (input.save === undefined) return wholeList(data.toolExecutions);
    const folder = path.resolve(context.cwd, input.save);
    const pictures = data.toolExecutions.flatMap((execution, index) =>
      moments.flatMap(([name, key]) => {
        const url = execution[key]?.signedUrl;
        const number = String(index + 1).padStart(3, '0');
        return url === undefined ? [] : [{ name: `${number}-${name}${extensionOf(url)}`, url }];
      }),
    );
    await saveDownloads(context, new LocalFolder(folder), pictures, input.force);
    const saved = pictures.length;
    context.terminal.note(`Saved ${saved} ${saved === 1 ? 'picture' : 'pictures'} to ${folder}`);
    return wholeList(data.toolExecutions);
  },
});

/** The extension in a URL's path when it is a picture's, else `.png`. */
function extensionOf(url: string): string {
  const extension = path.posix.extname(new URL(url, 'http://localhost').pathname).toLowerCase();
  return ['.png', '.jpg', '.jpeg', '.webp'].includes(extension) ? extension : '.png';
}
