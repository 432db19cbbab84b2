import path from 'node:path';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { checkTarget } from '../../cli/kit/files.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput, timeColumn } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { agentFlag, runPlace } from '../../cli/names/run-place.ts';
import { LocalFolder } from '../../client/transfers/local-files.ts';
import type { ScreenshotToolExecution } from '../../interface/types.ts';
import { type PictureKey, PictureUrls } from './picture-urls.ts';
import { type Download, saveDownloads } from './save-downloads.ts';
import { actionText, durationOf, errorOf, moments, numberShots, type Shot } from './shots.ts';

export default defineCommand({
  summary: 'List or save the screenshots of a run, or create a film strip',
  description:
    'A film strip is a single HTML file that shows the pictures before and after each action side by side. It has no scripts and needs no network, so you can open it in any browser or send it to others.',
  arguments: { run: runArgument },
  options: {
    ...agentFlag,
    save: text('DIR', 'Save the pictures in this folder', { complete: 'directories' }),
    html: text('FILE', 'Write a film strip to this file', { complete: 'files' }),
    force: flag('Overwrite existing files'),
    ...webFlag,
  },
  operations: ['getRunScreenshotTimeline', 'getAgentRunScreenshotTimeline', 'listAgents', 'getRun', 'createPageCode'],
  examples: [
    { command: 'aops runs screenshots @latest', text: 'List the screenshots of the newest run' },
    { command: 'aops runs screenshots @latest --html run.html', text: 'Create a film strip of the newest run' },
    { command: 'aops runs screenshots @latest --save shots', text: 'Save the pictures' },
  ],
  result: returns('getRunScreenshotTimeline.data.toolExecutions[]', { number: 'integer' }),
  output: listOutput<Shot>({
    columns: [
      column('#', (shot) => shot.number, { align: 'right' }),
      timeColumn('TIME', (shot) => shot.startedAt),
      column('TOOL', (shot) => shot.toolName),
      column('ACTION', (shot) => `${actionText(shot)}${errorOf(shot) === undefined ? '' : ' (failed)'}`, { shrink: true, min: 16 }),
      column('TOOK', (shot) => durationOf(shot), { align: 'right' }),
      column('PICTURES', (shot) => moments.flatMap(([name, key]) => (shot[key] ? [name] : [])).join(', '), {
        link: (shot) => shot.afterScreenshot?.signedUrl ?? shot.beforeScreenshot?.signedUrl,
      }),
    ],
    empty: 'The run has no screenshots.',
  }),
  async run(context, input) {
    if (input.web)
      refuseWithWeb(input, {
        save: 'the page saves no pictures',
        html: 'the page writes no file',
        agent: 'the page does not check the agent',
      });
    const client = await context.client();
    const { runId: run_id, agentId: agent_id } = await runPlace(context, input.run, input.agent);
    if (input.web) return openTeamPage(context, `/runs/${run_id}/screenshots`);
    const params = { run_id };
    const file = input.html === undefined ? undefined : path.resolve(context.cwd, input.html);
    const strip = file === undefined ? undefined : await import('./film-strip/film-strip.ts');
    if (file !== undefined) checkTarget(context, file, input.force);
    const timeline = async () => {
      const { data } =
        agent_id === undefined
          ? await client.call('getRunScreenshotTimeline', { params })
          : await client.call('getAgentRunScreenshotTimeline', { params: { ...params, agent_id } });
      return data.toolExecutions;
    };
    const shots = numberShots(await timeline());
    if (input.save !== undefined) await save(context, path.resolve(context.cwd, input.save), shots, { force: input.force, timeline });
    if (file !== undefined && strip !== undefined) {
      const { run } = await client.call('getRun', { params });
      const { missing } = await strip.writeFilmStrip(context, file, { run, shots, force: input.force, renewTimeline: timeline });
      context.terminal.note(`Wrote ${file}`);
      if (missing > 0) context.terminal.note(`${pluralize(missing, 'picture')} could not be downloaded; the film strip shows which.`);
    }
    return wholeList(shots);
  },
});

interface PictureOptions {
  force: boolean;
  /** Reads the timeline again. */
  timeline: () => Promise<readonly ScreenshotToolExecution[]>;
}

async function save(context: Context, folder: string, shots: readonly Shot[], { force, timeline }: PictureOptions): Promise<void> {
  const urls = new PictureUrls(timeline);
  const pictures = shots.flatMap((shot) =>
    moments.flatMap(([name, key]): Download[] => {
      const url = shot[key]?.signedUrl;
      return url === undefined ? [] : [picture(urls, shot, key, `${String(shot.number).padStart(3, '0')}-${name}${extensionOf(url)}`)];
    }),
  );
  await saveDownloads(context, new LocalFolder(folder), pictures, force);
  context.terminal.note(`Saved ${pluralize(pictures.length, 'picture')} to ${folder}`);
}

const picture = (urls: PictureUrls, shot: Shot, key: PictureKey, name: string): Download => ({
  name,
  async withUrl(saveFrom) {
    const saved = await urls.download(shot, key, async (url) => {
      await saveFrom(url);
      return true;
    });
    if (saved === undefined)
      throw new AopsError(`The service no longer has ${name}.`, { code: 'picture_not_found', exit: exitCodes.notFound });
  },
});

/** The extension in the path of a URL if it is one of a picture, otherwise `.png`. */
function extensionOf(url: string): string {
  const extension = path.posix.extname(new URL(url, 'http://localhost').pathname).toLowerCase();
  return ['.png', '.jpg', '.jpeg', '.webp'].includes(extension) ? extension : '.png';
}
