import { exitCodes } from '../../base/errors.ts';
import { bodyFromFlags } from '../../cli/input/body.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import { argument, text, texts } from '../../cli/kit/flags.ts';
import { documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { answerTool } from '../../client/mcp/tool-policy.ts';
import { callTool, isDestructive, listTools } from '../../client/mcp/tools.ts';
import { checkArguments, toolArguments, toolNamed } from './arguments.ts';
import { answerAsPerson } from './person.ts';
import { refusedCall, resultData, wordsOf } from './result.ts';
import { withSession } from './session.ts';
import { showData } from './show.ts';

export default defineCommand({
  summary: 'Call a tool of the service',
  description:
    "The arguments are checked against the tool's schema before anything is sent. On a terminal, the text of the tool is printed; with --json, its structured content, or `content` if it has none. Destructive tools need confirmation, or --yes without a terminal. respond_to_human_request prompts the person at the terminal for the answer, and is refused everywhere else.",
  arguments: { tool: argument('The name of the tool', { complete: 'tools' }) },
  options: {
    rawField: texts('KEY=VALUE', 'Add a text argument', { short: 'f' }),
    field: texts('KEY=VALUE', 'Add a typed argument: true, false, null, a number, @FILE, or text', { short: 'F' }),
    input: text('FILE|-', 'Use a JSON file as the arguments', { complete: 'files' }),
  },
  operations: ['callMcp', 'getRun', 'listRunMessages', 'streamRunEvents', 'respondToHumanRequest'],
  mutates: true,
  exits: [exitCodes.notFound],
  examples: [
    { command: 'aops mcp call list_runs -f status=waiting', text: 'List waiting runs' },
    { command: "aops mcp call start_run -f agent_id=AGENT -f message='Check invoice 7' --jq .run.id", text: 'Start a run in a script' },
    { command: 'aops mcp call stop_run --input run.json --yes', text: 'Read the arguments from a file' },
  ],
  // The structured content, whose fields depend on the tool, or `content` if it has none.
  result: returns('callMcp', { content: 'object[]?' }),
  isResultOpen: true,
  output: documentOutput<Record<string, unknown>>((data, view) => showData(data, wordsOf(data), view)),
  async run(context, input) {
    const args = toolArguments(await bodyFromFlags(context, input));
    if (input.tool === answerTool) return answerAsPerson(context, args);
    return withSession(context, async (session) => {
      const tool = toolNamed(await listTools(session), input.tool);
      await checkArguments(tool, args);
      if (isDestructive(tool) && !context.flags.dryRun) await confirm(context, `Call ${tool.name}? The service marks it as destructive.`);
      const result = await callTool(session, tool, args);
      const data = resultData(result);
      if (result.isError) {
        const failure = refusedCall(tool.name, result);
        // People see it in the error; programs also get the whole result.
        throw context.format === 'table' ? failure : new ResultError(failure, data);
      }
      return data;
    });
  },
});
