import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { type AgentInput, agentDefinition, agentOptions, definitionFlags } from '../../cli/input/agent-definition.ts';
import { readText } from '../../cli/input/body.ts';
import { changedLiveDefinition } from '../../cli/input/live-definition.ts';
import { changedConfig, explainProcedure, revisionConfig } from '../../cli/input/procedure.ts';
import { readAgentSecrets, secretNames } from '../../cli/input/secret.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, optionalArgument, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import { agentId } from '../../cli/names/resolve.ts';
import type { AgentCheck, Body } from '../../interface/types.ts';
import { startSpinner } from '../../terminal/progress.ts';
import { checkRecord } from './check-record.ts';
import { isFile, runtimeOfFile } from './checked-file.ts';

/** The service ends a check in less than 2 minutes, and no connection may be quiet for longer; in milliseconds. */
const timeLimit = 118_000;

export default defineCommand({
  summary: 'Check whether an agent works on the service',
  description:
    'Starts the program of the agent for a moment, as a run would, and reports its version, its modes, whether it asks before it acts, whether it can continue a session, and how to sign in. Nothing remains of a check: no run, no file, and no process. Options for programs are applied to the agent for the check alone. With --turn, the agent is prompted once to write a file, and every request that it makes is denied; this uses its model, which can cost money. Procedures are only validated. The exit code is 1 if a problem is found, and 2 for an invalid procedure.',
  arguments: {
    target: optionalArgument('The agent, by ID or name, or a file with a procedure (with a / or an extension such as .yaml)', {
      complete: 'agents',
    }),
  },
  options: {
    ...agentOptions,
    runtime: text('NAME', 'Runtime that executes the procedure in the file (default: as its content suggests)', { check: length(1) }),
    turn: flag('Prompt the agent once, to find out whether it asks before it writes; can cost money'),
  },
  operations: ['listAgents', 'listAgentRevisions', 'checkAgent'],
  exits: [exitCodes.failure],
  examples: [
    { command: 'aops agents check fixer', text: 'Check an agent with its own secrets' },
    { command: 'aops agents check fixer --turn', text: 'Also check that it is signed in and asks before it writes' },
    { command: 'aops agents check --acp claude --secret ANTHROPIC_API_KEY=@key.txt', text: 'Check a program before creating an agent' },
    { command: 'aops agents check procedure.yaml', text: 'Validate a procedure' },
  ],
  result: returns('checkAgent'),
  output: recordOutput<AgentCheck>(checkRecord),
  async run(context, input) {
    const client = await context.client();
    const { body, source } = await checkedBody(context, input);
    const secrets = await readAgentSecrets(context, input.secret, '--secret ');
    if (secrets.length > 0) body.secrets = Object.fromEntries(secrets.map(({ name, value }) => [name, value]));
    if (input.turn) body.turn = true;
    const spinner = startSpinner(context.terminal, 'Checking', context.clock);
    try {
      // A check that is repeated starts another process, and can cost money again.
      const options = { once: true, attemptMilliseconds: timeLimit };
      const result = await explainProcedure(source, client.call('checkAgent', { params: { teamId: context.teamId() }, body }, options));
      if (result.problem === null) return result;
      const { code, message } = result.problem;
      throw new ResultError(new AopsError(message, { code, exit: exitCodes.failure }), result);
    } finally {
      spinner.stop();
    }
  },
});

/** What to check, and where its procedure comes from. */
interface Checked {
  body: Body<'checkAgent'>;
  source: string;
}

async function checkedBody(
  context: Context,
  input: AgentInput & { target: string | undefined; runtime: string | undefined },
): Promise<Checked> {
  const { target, runtime } = input;
  const flags = definitionFlags(input);
  if (target !== undefined && isFile(target)) {
    const changes = flags.filter((each) => each !== '--secret');
    if (changes.length > 0) throw new UsageError(`${changes.join(' and ')} cannot be combined with a file.`, 'Put them into the file.');
    const procedure = await readText(context, target);
    const source = target === '-' ? 'standard input' : target;
    return { body: { config: revisionConfig(procedure, runtime ?? (await runtimeOfFile(procedure))) }, source };
  }
  if (runtime !== undefined) throw new UsageError('--runtime can only be used with a file.');
  if (target === undefined) {
    const definition = await agentDefinition(context, input, secretNames(input.secret));
    if (definition === undefined)
      throw new UsageError('Nothing to check was specified.', 'Pass an agent, a file with a procedure, --acp ID, or --acp-command.');
    return { body: { config: revisionConfig(definition, 'acp') }, source: 'definition' };
  }
  const id = await agentId(context, target);
  if (flags.length === 0) return { body: { agent_id: id }, source: target };
  const { build, text: changed } = await changedLiveDefinition(context, { id, name: target }, input);
  return { body: { agent_id: id, config: changedConfig(build?.config, changed, 'acp') }, source: 'definition' };
}
