/** The definition of an existing agent, and changes of it by options. */

import { UsageError } from '../../base/errors.ts';
import { shellWord } from '../../base/shell.ts';
import { wordList } from '../../base/word-list.ts';
import type { Build } from '../../interface/types.ts';
import type { Context } from '../kit/context.ts';
import { liveRevision } from '../names/revision.ts';
import { procedureOf, runtimeOf } from '../records/revision.ts';
import { type AgentInput, definitionFlags, readDefinitionChange } from './agent-definition.ts';
import { secretNames } from './secret.ts';

export interface LiveDefinition {
  /** The live revision; undefined if the agent has none. */
  build: Build | undefined;
  /** Its definition with the changes. */
  text: string;
}

/**
 * The definition of an agent's live revision with the parts that the options replace.
 * @param agent the agent as ID, and as the user named it
 * @throws UsageError if the agent is not a program
 */
export async function changedLiveDefinition(
  context: Context,
  agent: { id: string; name: string },
  input: AgentInput,
): Promise<LiveDefinition> {
  const change = await readDefinitionChange(context, input, secretNames(input.secret));
  const build = await liveRevision(context, agent.id);
  const runtime = runtimeOf(build?.config);
  if (build === undefined && change.program === undefined)
    throw new UsageError(
      `${agent.name} has no live revision whose program ${wordList(definitionFlags(input), 'and')} could change.`,
      'Pass --acp or --acp-command as well, or a procedure with --procedure FILE.',
    );
  if (build !== undefined && runtime !== 'acp') throw notAProgram(agent.name, runtime, input);
  const { changedDefinition } = await import('./changed-definition.ts');
  const { text, removedMode } = changedDefinition(build === undefined ? undefined : procedureOf(build.config), change);
  if (removedMode !== undefined)
    context.terminal.note(
      `The mode ${removedMode} of the previous program no longer applies. Pass --mode to choose one of the new program.`,
    );
  return { build, text };
}

function notAProgram(name: string, runtime: string | undefined, input: AgentInput): UsageError {
  const flags = definitionFlags(input);
  const owner = runtime === undefined ? 'a configuration of another version' : `the runtime ${runtime}`;
  const program = input.acp === undefined ? '--acp-command' : `--acp ${input.acp}`;
  const hint =
    input.acp === undefined && input.acpCommand === undefined
      ? `Its procedure is changed with \`aops agents update ${shellWord(name)} --procedure FILE\`.`
      : `Create another agent with \`aops agents create NAME ${program}\`, or replace the procedure with a definition: --procedure FILE --runtime acp.`;
  return new UsageError(
    `${name} is executed by ${owner}, so ${wordList(flags, 'and')} ${flags.length === 1 ? 'does' : 'do'} not apply to it.`,
    hint,
    'not_a_program',
  );
}
