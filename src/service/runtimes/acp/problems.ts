/** Why an agent cannot be started or does not continue, in words that say what to do. */
import { firstLine } from '../../../base/values.ts';
import type { Exit } from '../../sandbox/process.ts';

/** The kind of a problem, for programs that read the result of a check. */
export type ProblemCode =
  | 'not_installed'
  | 'unsupported_platform'
  | 'program_not_found'
  | 'secret_missing'
  | 'not_signed_in'
  | 'unsupported_protocol'
  | 'unknown_mode'
  | 'not_permitted'
  | 'ended'
  | 'timed_out'
  | 'agent_error';

/** The run cannot continue because of its agent. The message is shown to people. */
export class AgentProblem extends Error {
  readonly code: ProblemCode;

  constructor(message: string, code: ProblemCode = 'agent_error') {
    super(message);
    this.name = 'AgentProblem';
    this.code = code;
  }
}

/** How many characters of standard error a message quotes. */
const longestQuote = 2_000;
/** Exit status of a shell for a program that it cannot find, or not execute (POSIX.1-2017, 2.8.2). */
const notFound = 127;
const notExecutable = 126;
/** The error code of agents for requests before the sign-in (Agent Client Protocol, "Error codes"). */
const authenticationRequired = -32_000;

/** The agent ended although it still had something to do. @param during such as "while it was starting" */
export function endProblem(end: Exit & { errorOutput: string }, program: string, during: string): AgentProblem {
  const quote = end.errorOutput.trim().slice(-longestQuote);
  if (end.exitCode === notFound && quote.includes(program))
    return new AgentProblem(
      `The program \`${program}\` of the agent was not found. Install it on the machine of the service, or correct the definition of the agent.`,
      'program_not_found',
    );
  if (end.exitCode === notExecutable)
    return new AgentProblem(`The program \`${program}\` of the agent cannot be executed.${quoted(quote)}`, 'program_not_found');
  const explanation = quote === '' ? ' It wrote nothing to standard error; start it by hand to see why.' : quoted(quote);
  return new AgentProblem(`The agent ended ${during} (${endInWords(end)}).${explanation}`, 'ended');
}

const quoted = (text: string): string => (text === '' ? '' : ` It wrote:\n${text}`);

const endInWords = ({ exitCode, signal }: Exit): string => (signal === null ? `exit code ${exitCode}` : `signal ${signal}`);

/** The problem that an error response describes. @param during such as "while it was starting" */
export function requestProblem(error: unknown, during: string): AgentProblem {
  if (error instanceof AgentProblem) return error;
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
  if (code === authenticationRequired)
    return new AgentProblem(
      `The agent is not signed in. Store its API key as a secret of the agent, or sign in on the machine of the service. The agent reports: ${firstLine(String(message))}`,
      'not_signed_in',
    );
  const details =
    data === undefined || data === null ? '' : ` ${typeof data === 'string' ? data : JSON.stringify(data)}`.slice(0, longestQuote);
  return new AgentProblem(`The agent reported an error ${during}: ${String(message)}${details}`);
}
