/** How the result of a check is displayed. */
import { formatDuration } from '../../base/duration.ts';
import { shellWord } from '../../base/shell.ts';
import { withStyle } from '../../cli/kit/output.ts';
import type { AgentCheck, CheckedProgram, CheckedTurn } from '../../interface/types.ts';

const levels = {
  contained: 'contained',
  host: 'not contained: it can do what the user of the service can do',
  off: 'the service starts no programs',
} as const;

export function checkRecord({ usable, runtime, problem, warnings, program }: AgentCheck): Record<string, unknown> {
  return {
    Usable: withStyle(usable ? 'yes' : 'no', usable ? undefined : 'error'),
    Runtime: runtime,
    ...(program === null ? {} : programFields(program, problem?.code === 'not_signed_in')),
    Warnings: warnings.length === 0 ? undefined : withStyle(warnings.join(' '), 'warning'),
  };
}

function programFields(program: CheckedProgram, lacksSignIn: boolean): Record<string, unknown> {
  const { command, name, version, protocol_version: protocol, start_milliseconds: start, turn } = program;
  return {
    Program: command?.map(shellWord).join(' '),
    Containment: levels[program.exec_level],
    Agent: name === null ? undefined : [name, version].filter((part) => part !== null).join(' '),
    Protocol: protocol === null ? undefined : `version ${protocol}`,
    'Started in': start === null ? undefined : formatDuration(start),
    'Sign-in': protocol === null ? undefined : lacksSignIn ? refusalInWords(program) : signInInWords(program),
    Mode: modeInWords(program),
    'Asks first': start === null ? undefined : asksInWords(program),
    'Continues sessions': sessionsInWords(program),
    'Tools of a run': program.can_use_tools === null ? undefined : program.can_use_tools ? 'yes' : 'no',
    Turn: turn === null ? undefined : turnInWords(turn),
    Answer: turn === null || turn.text === '' ? undefined : turn.text,
  };
}

function refusalInWords({ sign_in_methods: methods }: CheckedProgram): string {
  return `not signed in${methods.length === 0 ? '' : `; it offers: ${methods.map(({ name }) => name).join(', ')}`}`;
}

function signInInWords({ signed_in, credential }: CheckedProgram): string {
  if (signed_in === true) return 'its model answered';
  return `${credential === null ? 'unknown' : `with ${credential}`}; --turn tests it`;
}

function modeInWords({ mode, modes }: CheckedProgram): string | undefined {
  if (modes.length === 0) return undefined;
  const offers = `it offers ${modes.map(({ id }) => id).join(', ')}`;
  return mode === null ? offers : `${mode} (${offers})`;
}

function asksInWords({ asks, turn }: CheckedProgram): string {
  if (asks === null) return 'unknown; --turn tests it';
  const isTested = turn !== null && (turn.asked || turn.wrote);
  return `${asks ? 'yes' : 'no'}, ${isTested ? 'tested' : 'judging by its mode; --turn tests it'}`;
}

function sessionsInWords({ can_resume, can_load }: CheckedProgram): string | undefined {
  if (can_resume === null) return undefined;
  const ways = [...(can_resume ? ['resumes'] : []), ...(can_load ? ['loads'] : [])];
  return ways.length === 0 ? 'no' : `yes: ${ways.join(' and ')} them`;
}

function turnInWords({ requests, wrote, milliseconds, cost }: CheckedTurn): string {
  const requestText = requests.length === 0 ? 'asked nothing' : `asked (denied): ${requests.map(({ title }) => title).join('; ')}`;
  const price = cost === null ? '' : `, ${cost.amount} ${cost.currency}`;
  return `${requestText}; ${wrote ? 'wrote a file' : 'wrote nothing'} (${formatDuration(milliseconds)}${price})`;
}
