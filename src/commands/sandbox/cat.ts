import { UsageError } from '../../base/errors.ts';
import { openTeamPage, refuseWithWeb, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import { agentFlag, runPlace } from '../../cli/names/run-place.ts';
import { readRunFile, runFileBytes } from '../../client/transfers/run-files.ts';
import { fileView } from './file-view.ts';

export default defineCommand({
  summary: "Print a file of a run's sandbox",
  arguments: { run: runArgument, path: argument('The path of the file') },
  options: { ...agentFlag, ...webFlag },
  operations: ['getRunSandboxFileContent', 'getAgentRunSandboxFileContent', 'listAgents', 'createPageCode'],
  examples: [
    { command: 'aops sandbox cat @latest report.md', text: 'Print a text file' },
    { command: 'aops sandbox cat RUN data.bin > data.bin', text: 'Save a binary file' },
  ],
  async run(context, input) {
    if (input.web) {
      refuseWithWeb(input, { agent: 'the page does not check the agent' });
      return openTeamPage(context, fileView(await runId(context, input.run), 'file', input.path));
    }
    const client = await context.client();
    const file = await readRunFile(client, await runPlace(context, input.run, input.agent), input.path, context.signal);
    if (context.format === 'json') return file;
    if (!context.terminal.out.isTTY) {
      for await (const chunk of runFileBytes(client, file, { signal: context.signal })) await context.terminal.bytes(chunk);
      return undefined;
    }
    if (!file.isTextFile)
      throw new UsageError(
        `${file.path} is a binary file, which cannot be printed on a terminal.`,
        `Save it with: aops sandbox pull ${input.run} ${input.path} --to .`,
      );
    const decoder = new TextDecoder();
    for await (const chunk of runFileBytes(client, file, { signal: context.signal }))
      await context.terminal.write(decoder.decode(chunk, { stream: true }));
    await context.terminal.write(decoder.decode());
    return undefined;
  },
});
