import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { commandsOf } from '../../cli/kit/tree.ts';
import { type DescribedCommand, describeCommand, loadAllCommands } from '../../cli/program/describe.ts';

export default defineCommand({
  summary: 'Describe every command for programs',
  description:
    'With --json, each command includes its aliases, arguments, options, the operations it calls, whether it changes or destroys anything, its exit codes, and examples.',
  examples: [
    { command: 'aops commands', text: 'List all commands' },
    { command: "aops commands --json --jq '.data[] | select(.mutates) | .id'", text: 'List the commands that change something' },
  ],
  result: returns({
    id: 'string',
    aliases: 'string[]',
    summary: 'string',
    description: 'string|null',
    arguments: 'object[]',
    options: 'object[]',
    operations: 'object[]',
    mutates: 'boolean',
    destructive: 'boolean',
    exit_codes: 'integer[]',
    result: 'object|null',
    examples: 'object[]',
  }),
  output: listOutput<DescribedCommand>({
    columns: [column('COMMAND', (command) => command.id), column('SUMMARY', (command) => command.summary, { shrink: true })],
    empty: 'No commands.',
  }),
  async run(context) {
    return wholeList((await loadAllCommands(commandsOf(context))).map(describeCommand));
  },
});
