import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { pluralize } from '../../base/pluralize.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { shellWord } from '../../base/shell.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { commandWords } from '../../cli/input/agent-definition.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { confirm } from '../../cli/kit/confirm.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type CommandInput, choice, optionalArgument, text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { acp } from './templates/acp.ts';
import { repository } from './templates/repository.ts';
import { script } from './templates/script.ts';
import type { Template, TemplateProgram } from './templates/template.ts';

const templates = { script, acp, repository } as const satisfies Record<string, Template>;
type TemplateName = keyof typeof templates;
const templateNames = ['script', 'acp', 'repository'] as const satisfies readonly TemplateName[];

const args = { directory: optionalArgument('The folder to write to, which is created if necessary (default: the current one)') } as const;
const options = {
  kind: choice(templateNames, `What to start from: ${templateNames.map((name) => `${name} (${templates[name].summary})`).join(', ')}`, {
    metavar: 'NAME',
  }),
  name: text('NAME', 'Name of the agent (default: the name of the folder)', { check: length(1) }),
  acp: text('ID', 'The program is this agent of the registry, such as claude, codex, or gemini', { check: length(1) }),
  acpCommand: text("'CMD ARGS'", 'The program is what this command starts; it must speak the Agent Client Protocol', { check: length(1) }),
} as const;
type Input = CommandInput<typeof args, typeof options>;

interface Initialized {
  directory: string;
  kind: TemplateName;
  name: string;
  /** Paths in the folder. */
  written: string[];
  unchanged: string[];
  next: string[];
}

export default defineCommand({
  summary: 'Write a new agent with tests into a folder',
  description:
    'Writes what an agent consists of, with tests for `aops agents test` and a README with the next commands; everything works without changes. On a terminal, the command asks what is not specified. Existing files are overwritten only after a confirmation, or with --yes. Nothing is sent to a service.',
  arguments: args,
  options,
  examples: [
    { command: 'aops agents init payer --kind script', text: 'Start with a procedure' },
    { command: 'aops agents init writer --acp claude', text: 'Start with Claude Code' },
    { command: 'aops agents init fixer --kind repository --acp codex', text: 'Start with a program that works on a repository' },
  ],
  result: returns({
    directory: 'string',
    kind: 'script|acp|repository',
    name: 'string',
    written: 'string[]',
    unchanged: 'string[]',
    next: 'string[]',
  }),
  output: textOutput<Initialized>(described),
  async run(context, input) {
    const kind = await chooseTemplate(context, input);
    const program = templates[kind].needsProgram ? await chooseProgram(context, input) : undefined;
    const folder = path.resolve(context.cwd, input.directory ?? '.');
    const name = input.name ?? path.basename(folder);
    const contents = Object.entries(templates[kind].files({ name, program }));
    const unchanged = await unchangedFiles(context, folder, contents);
    const written = contents.map(([file]) => file).filter((file) => !unchanged.includes(file));
    await write(
      folder,
      contents.filter(([file]) => written.includes(file)),
    );
    const next = templates[kind].next({ name, program });
    const enter = folder === context.cwd ? [] : [`cd ${shellWord(path.relative(context.cwd, folder))}`];
    return { directory: folder, kind, name, written, unchanged, next: [...enter, ...next] };
  },
});

type Contents = readonly (readonly [file: string, content: string])[];

/**
 * The files that exist already with the same content.
 * @throws AopsError `not_confirmed` if files with other contents may not be overwritten
 */
async function unchangedFiles(context: Context, folder: string, contents: Contents): Promise<string[]> {
  const unchanged: string[] = [];
  const changed: string[] = [];
  for (const [file, content] of contents) {
    const present = await readPresent(path.join(folder, file));
    if (present !== undefined) (present === content ? unchanged : changed).push(file);
  }
  if (changed.length > 0) await confirm(context, `Overwrite ${changed.join(', ')} in ${folder}?`);
  return unchanged;
}

/** The content of a file; undefined if it does not exist. @throws AopsError `not_readable` */
async function readPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw readFailure(error, file);
  }
}

/** @throws UsageError if it is not specified, and there is no terminal to ask on */
async function chooseTemplate({ terminal, prompter }: Context, { kind, acp: agent, acpCommand }: Input): Promise<TemplateName> {
  const hasProgram = agent !== undefined || acpCommand !== undefined;
  if (kind !== undefined) {
    if (hasProgram && !templates[kind].needsProgram)
      throw new UsageError(`--acp and --acp-command need --kind acp or repository, not ${kind}.`);
    return kind;
  }
  if (hasProgram) return 'acp';
  if (!terminal.interactive)
    throw new UsageError(
      '--kind is missing.',
      `Choose one: ${templateNames.map((name) => `${name} (${templates[name].summary})`).join(', ')}.`,
    );
  return prompter.select({
    message: 'What is the agent?',
    choices: templateNames.map((value) => ({ value, name: `${value}: ${templates[value].summary}` })),
  });
}

/** @throws UsageError for an unknown agent, or if it is not specified, and there is no terminal to ask on */
async function chooseProgram({ terminal, prompter }: Context, { acp: id, acpCommand }: Input): Promise<TemplateProgram> {
  if (id !== undefined && acpCommand !== undefined) throw new UsageError('--acp and --acp-command cannot be combined.');
  if (acpCommand !== undefined) return { line: `command: ${JSON.stringify(commandWords(acpCommand))}`, secret: undefined };
  const { acpRegistry } = await import('../../service/service.ts');
  const { agents } = acpRegistry();
  const wordFor = (agent: (typeof agents)[number]): string => agent.alias ?? agent.id;
  if (id === undefined && !terminal.interactive)
    throw new UsageError('The template needs a program.', "Pass --acp ID, such as claude or codex, or --acp-command 'CMD ARGS'.");
  const chosen =
    id ??
    (await prompter.search({
      message: 'Which program?',
      choices: agents.map((agent) => ({ value: wordFor(agent), name: `${wordFor(agent)}: ${agent.name}` })),
    }));
  const agent = agents.find((each) => each.id === chosen || each.alias === chosen);
  if (agent !== undefined) return { line: `acp: ${wordFor(agent)}`, secret: agent.credentials[0] };
  const suggestion = nearest(
    chosen,
    agents.flatMap(({ id: name, alias }) => (alias === null ? [name] : [alias, name])),
  );
  throw new UsageError(
    `The registry contains no agent "${chosen}".`,
    suggestion === undefined
      ? 'See the agents with `aops agents acp list`, or start another one with --acp-command.'
      : `Did you mean ${suggestion}?`,
  );
}

async function write(folder: string, files: Contents): Promise<void> {
  for (const [file, content] of files) {
    const target = path.join(folder, file);
    try {
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, content);
    } catch (error) {
      throw writeFailure(error, target);
    }
  }
}

function described({ directory, written, unchanged, next }: Initialized): string {
  const list = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
  return [
    ...list(`Wrote ${pluralize(written.length, 'file')} to ${directory}:`, written),
    ...list(`${written.length === 0 ? `In ${directory}, u` : 'U'}nchanged:`, unchanged),
    ...list('Next:', next),
  ].join('\n');
}
