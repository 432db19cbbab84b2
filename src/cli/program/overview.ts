/** The output of `aops --help`: where to start, the commands by section, and the global flags. */
import type { Help, Command as Parser } from 'commander';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { UserCommandList } from './user-commands/resolve.ts';

const start = [
  ['aops local up', 'start a service of your own, on this machine'],
  ['aops auth login', 'or sign in to a hosted service'],
  ['aops runs start --agent A --watch', 'start a run, watch it, answer it'],
] as const;

const more = `Help:   \`aops GROUP --help\`, \`aops GROUP COMMAND --help\`
Topics: \`aops help environment\`, \`exit-codes\`, \`formatting\`,
        \`names\`, \`procedures\`, \`scripting\`
`;

/** The overview of the first level. Each list has its own column width, because flags are longer than command names. */
export function overviewText(root: Parser, helper: Help, { aliases, extensions }: UserCommandList): string {
  const list = (title: string, items: readonly (readonly [string, string])[], width: number): string => {
    const lines = items.map(([term, text]) => helper.formatItem(term, width, text, helper));
    return helper.formatItemList(title, lines, helper).join('\n');
  };
  const commands = helper.visibleCommands(root);
  const wordWidth = Math.max(...commands.map((command) => command.name().length));
  const sections = helper.groupItems([...root.commands], commands, (command) => command.helpGroup() || 'Commands:');
  const flags = helper.visibleOptions(root).map((option) => [helper.optionTerm(option), helper.optionDescription(option)] as const);
  const version = ['--version', 'Show the version (only without a command)'] as const;
  return [
    `Usage: ${helper.commandUsage(root)}\n`,
    `${helper.commandDescription(root)}\n`,
    list('Start here:', start, maxLength(start)),
    ...[...sections].map(([title, members]) =>
      list(
        title,
        members.map((command) => [command.name(), helper.subcommandDescription(command)] as const),
        wordWidth,
      ),
    ),
    ...(aliases.length === 0 ? [] : [list('Your aliases:', aliases.map(asLine), maxLength(aliases))]),
    ...(extensions.length === 0 ? [] : [list('Extensions:', extensions.map(asLine), maxLength(extensions))]),
    list('Global flags:', [...flags, version], maxLength(flags)),
    more,
  ].join('\n');
}

const asLine = ([name, text]: readonly [string, string]): [string, string] => [name, sanitizeLine(text)];

const maxLength = (items: readonly (readonly [string, string])[]): number => Math.max(...items.map(([term]) => term.length));
