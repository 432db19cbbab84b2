/** docs/manual: one page for each group of commands, and an index with everything that commands share. */

import { type Entries, groupsOf } from '../../src/cli/kit/tree.ts';
import {
  type DescribedCommand,
  type DescribedOption,
  describeCommand,
  describedGlobalFlags,
  loadAllCommands,
} from '../../src/cli/program/describe.ts';
import { exitMeanings } from '../../src/cli/program/help.ts';
import type { Block } from '../../src/cli/program/topics/topic.ts';
import { topics } from '../../src/cli/program/topics/topics.ts';
import { commandTree } from '../../src/commands/index.ts';
import { code, generatedNote, page, table } from './markdown.ts';

/** The pages by file name. */
export async function manualPages(tree: Entries = commandTree): Promise<Map<string, string>> {
  const commands = (await loadAllCommands(tree)).map(describeCommand);
  const summaries = new Map(groupsOf(tree).map(({ path, group }) => [path.join(' '), group.summary]));
  const groups = new Map<string, DescribedCommand[]>();
  for (const command of commands) {
    const group = command.id.split(' ')[0] as string;
    groups.set(group, [...(groups.get(group) ?? []), command]);
  }
  const pages = new Map([
    ['README.md', indexPage(groups, summaries)],
    ['topics.md', topicsPage()],
  ]);
  for (const [group, members] of groups) pages.set(`${group}.md`, groupPage(group, members, summaries));
  return pages;
}

function indexPage(groups: Map<string, DescribedCommand[]>, summaries: Map<string, string>): string {
  return page([
    generatedNote,
    '# Manual',
    'This page lists every command, as `aops GROUP COMMAND --help` shows it. Programs get the same from `aops commands --json`.',
    ...[...groups]
      .filter(([group, members]) => !isAlone(group, members))
      .flatMap(([group, members]) => [`## [${group}](${group}.md)`, `${summaries.get(group)}.`, commandTable(members)]),
    '## Without a group',
    commandTable([...groups].filter(([group, members]) => isAlone(group, members)).flatMap(([, members]) => members)),
    '## Global flags',
    'Every command accepts these flags, before or after its own arguments.',
    optionTable(describedGlobalFlags()),
    '## Exit codes',
    'They are the same in every output mode. [Exit codes](../exit-codes.md) has the details.',
    exitTable(Object.keys(exitMeanings).map(Number)),
    '## Environment',
    'A flag overrides the environment, and the environment overrides the profile. See [configuration](../configuration.md).',
    'The [topics](topics.md#environment) list the variables, and contain the other texts of `aops help TOPIC`.',
  ]);
}

/** Whether a command is on the first level, without a group. */
const isAlone = (group: string, members: readonly DescribedCommand[]): boolean => members.length === 1 && members[0]?.id === group;

const commandTable = (commands: readonly DescribedCommand[]): string =>
  table(
    ['Command', 'Summary'],
    commands.map(({ id, summary }) => [`[${code(`aops ${id}`)}](${id.split(' ')[0]}.md#${anchor(id)})`, summary]),
  );

function groupPage(group: string, members: readonly DescribedCommand[], summaries: Map<string, string>): string {
  const isSingle = isAlone(group, members);
  const introducedGroups = new Set([group]);
  // A nested group is introduced before the first of its commands.
  const introduction = (id: string): string[] =>
    wordsAbove(id).flatMap((path) => {
      if (introducedGroups.has(path)) return [];
      introducedGroups.add(path);
      return [heading(path), `${summaries.get(path)}.`];
    });
  return page([
    generatedNote,
    `# aops ${group}`,
    isSingle ? undefined : `${summaries.get(group)}.`,
    ...members.flatMap((command) => [...introduction(command.id), ...commandBlocks(command, isSingle)]),
    'For global flags, exit codes, and environment variables, see the [manual](README.md).',
  ]);
}

function commandBlocks(command: DescribedCommand, isSingle: boolean): (string | undefined)[] {
  const {
    id,
    aliases,
    summary,
    description,
    arguments: parameters,
    options,
    operations,
    destructive,
    exit_codes,
    examples,
    result,
  } = command;
  return [
    isSingle ? undefined : heading(id),
    `${summary}.`,
    description?.trim(),
    destructive ? 'The command asks for confirmation. `--yes` confirms in advance, and is required where there is no terminal.' : undefined,
    fence('text', usage(command)),
    aliases.length === 0 ? undefined : `Aliases: ${aliases.map((alias) => code(`aops ${alias}`)).join(', ')}.`,
    parameters.length === 0
      ? undefined
      : table(
          ['Argument', 'Meaning'],
          parameters.map(({ name, summary: meaning, required }) => [code(name), required ? meaning : `${meaning} (optional)`]),
        ),
    options.length === 0 ? undefined : optionTable(options),
    'Examples:',
    fence('sh', examples.map(({ command: line, text }) => `# ${text}\n${line}`).join('\n\n')),
    operations.length === 0 ? undefined : `Operations: ${operationList(operations)}.`,
    result === null ? undefined : `${result.list ? 'JSON, each row of `data`' : 'JSON'}: ${fieldList(result.fields)}.`,
    `Exit codes, in addition to 0, 1, and 130: ${exit_codes.map((exit) => code(String(exit))).join(' ')}.`,
  ];
}

const fieldList = (fields: Record<string, string>): string =>
  Object.entries(fields)
    .map(([name, type]) => `${code(name)} (${type.replaceAll('|', ', ')})`)
    .join(', ');

/** The texts of `aops help TOPIC`. */
function topicsPage(): string {
  return page([
    generatedNote,
    '# Topics',
    'These are the texts of `aops help TOPIC`.',
    ...Object.entries(topics).flatMap(([name, { summary, blocks }]) => [`## ${name}`, `${summary}.`, ...blocks().map(topicBlock)]),
  ]);
}

function topicBlock(block: Block): string {
  if (typeof block === 'string') return block;
  if ('heading' in block) return `${block.heading}:`;
  if ('code' in block) return fence('sh', block.code.join('\n'));
  return table(
    ['', 'Meaning'],
    block.rows.map(([word, meaning]) => [code(word), meaning]),
  );
}

/** `aops runs watch RUN [flags]` */
export function usage({ id, arguments: parameters, options }: DescribedCommand): string {
  const words = parameters.map(({ name, required, variadic }) => {
    const word = `${name}${variadic ? '...' : ''}`;
    return required ? word : `[${word}]`;
  });
  const required = options.filter((option) => option.required).map((option) => `${option.flag} ${option.value}`);
  return ['aops', id, ...words, ...required, options.length > required.length ? '[flags]' : ''].filter(Boolean).join(' ');
}

const optionTable = (options: readonly DescribedOption[]): string =>
  table(
    ['Flag', 'Meaning'],
    options.map((option) => [optionWords(option), optionMeaning(option)]),
  );

function optionWords({ flag, short, value, negatable }: DescribedOption): string {
  const words = [...(short ? [short] : []), negatable ? `--[no-]${flag.slice(2)}` : flag].join(', ');
  return code(value === null ? words : `${words} ${value}`);
}

const optionMeaning = ({ summary, required, repeatable }: DescribedOption): string =>
  `${summary}${required ? ' (required)' : ''}${repeatable && !summary.includes('repeat') ? ' (repeatable)' : ''}`;

/** `aops api` can call any operation; a list of all of them would be useless. */
const operationList = (operations: DescribedCommand['operations']): string =>
  operations.length > 12
    ? 'any of the [interface](../interface.md)'
    : operations.map(({ id }) => `[${code(id)}](../interface.md)`).join(', ');

const exitTable = (codes: readonly number[]): string =>
  table(
    ['Exit code', 'Meaning'],
    codes.map((exit) => [code(String(exit)), exitMeanings[exit as keyof typeof exitMeanings]]),
  );

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** The groups that a command is in, outer ones first: `webhooks`, `webhooks secret`. */
const wordsAbove = (id: string): string[] => {
  const words = id.split(' ').slice(0, -1);
  return words.map((_, index) => words.slice(0, index + 1).join(' '));
};

/** `## aops runs start`, one level deeper for each group within a group. */
const heading = (id: string): string => `${'#'.repeat(id.split(' ').length)} aops ${id}`;

/** The anchor that Markdown renderers give to the heading of a command. */
const anchor = (id: string): string => `aops-${id.replaceAll(' ', '-')}`;
