import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { shellWord } from '../../base/shell.ts';
import { instructionsOf } from '../../cli/input/agent-definition.ts';
import { changedDefinition, unchanged } from '../../cli/input/changed-definition.ts';
import { changedConfig } from '../../cli/input/procedure.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument, type CommandInput, flag, toggle } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { findRevision, revisionOfAgent, revisionsOf } from '../../cli/names/revision.ts';
import { procedureOf, revisionRecord, runtimeOf } from '../../cli/records/revision.ts';
import type { Build } from '../../interface/types.ts';
import { editUntilSaved } from './editing/edit-until-saved.ts';

const args = { agent: argument('The agent, by ID or name', { complete: 'agents' }) } as const;
const options = {
  instructions: flag('Edit only the instructions of an agent that is a program'),
  from: revisionOfAgent('Edit this revision instead of the live one'),
  promote: toggle('Make the new revision live, without asking'),
} as const;

export default defineCommand({
  summary: 'Edit the procedure or the instructions of an agent in your editor',
  description:
    'Opens $VISUAL or $EDITOR, or otherwise vi, with the procedure of the live revision, or with the definition of an agent that is a program. The text is checked before anything is saved. If something is wrong with it, the command shows the lines and opens the editor again. The result is a draft revision, and the command asks whether to make it live. A text that could not be saved remains in a file, which the command names. Without an interactive terminal, use `aops agents update`.',
  arguments: args,
  options,
  operations: ['listAgents', 'listAgentRevisions', 'getRevision', 'createRevision', 'promoteRevision'],
  exits: [exitCodes.conflict, exitCodes.outcomeUnknown],
  examples: [
    { command: 'aops agents edit invoice-check', text: 'Edit the procedure of an agent' },
    { command: 'aops agents edit fixer --instructions', text: 'Edit the instructions of a program' },
    { command: 'aops agents edit invoice-check --promote', text: 'Make the edited procedure live' },
  ],
  result: returns('createRevision.build'),
  output: recordOutput<Build>(revisionRecord),
  async run(context, input) {
    const name = shellWord(input.agent);
    const option = input.instructions ? '--instructions' : '--procedure';
    const client = await context.client();
    if (!context.terminal.interactive)
      throw new UsageError(
        '`aops agents edit` opens an editor, and there is no interactive terminal.',
        `Write the text to a file, and pass it to \`aops agents update ${name} ${option} FILE\`.`,
      );
    const agent = await agentId(context, input.agent);
    const base = await findRevision(context, input.from ?? 'live', agent);
    const knownState: KnownState = { ...(await marksOf(context, agent)), text: procedureOf(base.config) };
    const { text, part, extension } = await editedPart(base, input);
    const saved = await editUntilSaved(context, {
      text,
      name: `${input.agent} ${part}`,
      extension,
      advice: `Use it with: aops agents update ${name} ${option}`,
      compose: (edited) =>
        input.instructions ? changedDefinition(procedureOf(base.config), { ...unchanged, instructions: edited }).text : edited,
      async save(procedure) {
        await requireSame(context, agent, base, knownState);
        const body = {
          name: `Edited revision ${base.revision_number ?? base.id}`,
          config: changedConfig(base.config, procedure, undefined),
        };
        return (await client.call('createRevision', { params: { agent_id: agent }, body })).build;
      },
    });
    return saved === undefined ? undefined : promote(context, input, agent, saved);
  },
});

/** The text to edit. @throws UsageError for instructions of an agent that is no program */
async function editedPart({ config }: Build, { agent, instructions }: CommandInput<typeof args, typeof options>) {
  const procedure = procedureOf(config);
  if (!instructions) return { text: procedure, part: runtimeOf(config) === 'acp' ? 'definition' : 'procedure', extension: '.yaml' };
  if (runtimeOf(config) !== 'acp')
    throw new UsageError(
      `${agent} is not a program, and only programs have instructions.`,
      `Edit its procedure: aops agents edit ${shellWord(agent)}`,
    );
  return { text: await instructionsOf(procedure), part: 'instructions', extension: '.md' };
}

/** The newest revision, and the one that new runs use. */
interface Marks {
  newest: Build | undefined;
  live: Build | undefined;
}

async function marksOf(context: Context, agent: string): Promise<Marks> {
  const marks: Marks = { newest: undefined, live: undefined };
  for await (const build of revisionsOf(context, agent)) {
    marks.newest ??= build;
    if (build.status !== 'live') continue;
    marks.live = build;
    break;
  }
  return marks;
}

/** The state of the agent that the user knows. */
interface KnownState extends Marks {
  /** The procedure of the edited revision. */
  text: string;
}

/**
 * Another client can have changed the agent while the editor was open. If the user accepts that, `knownState` is updated.
 * @throws AopsError `revision_changed` otherwise
 */
async function requireSame(context: Context, agent: string, base: Build, knownState: KnownState): Promise<void> {
  const { newest, live } = await marksOf(context, agent);
  const text = procedureOf((await findRevision(context, base.id, agent)).config);
  const title = ({ revision_number: number, id }: Build): string => `evision ${number ?? id}`;
  const event =
    newest !== undefined && newest.id !== knownState.newest?.id
      ? `${title(newest)} was created`
      : text !== knownState.text
        ? `${title(base)} was changed`
        : live !== undefined && live.id !== knownState.live?.id
          ? `${title(live)} was made live`
          : undefined;
  if (event === undefined) return;
  context.terminal.warn(`R${event} while you were editing. Your text does not contain what is different there.`);
  if (!(await context.prompter.confirm({ message: 'Save your text as another revision nevertheless?' })))
    throw new AopsError(`Your text was not saved as a revision, because r${event} in the meantime.`, {
      code: 'revision_changed',
      exit: exitCodes.conflict,
      hint: 'Compare revisions with `aops revisions diff`, and edit again.',
    });
  Object.assign(knownState, { newest, live, text });
}

/** Makes the draft live, if the user wants that. */
async function promote(context: Context, input: CommandInput<typeof args, typeof options>, agent: string, draft: Build): Promise<Build> {
  const number = draft.revision_number ?? draft.id;
  context.terminal.note(`Saved as revision ${number}, a draft.`);
  const wanted =
    input.promote ??
    (context.flags.yes || (await context.prompter.confirm({ message: `Make revision ${number} live, so that new runs use it?` })));
  if (!wanted) {
    context.terminal.advise(`Make it live with: aops revisions promote ${shellWord(input.agent)}@${number}`);
    return draft;
  }
  const client = await context.client();
  await client.call('promoteRevision', { params: { build_id: draft.id } });
  return findRevision(context, draft.id, agent);
}
