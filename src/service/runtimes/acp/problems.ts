/** Errors that explain why an agent cannot be started or continued, and what to do about it. */
import type { Redactor } from '../../../base/redaction.ts';
import { firstLine, shorten } from '../../../base/values.ts';
import type { Exit } from '../../sandbox/process.ts';

/** The kind of a problem, for programs that read the result of a check. */
export type ProblemCode =
  | 'not_installed'
  | 'unsupported_platform'
  | 'program_not_found'
  | 'file_missing'
  | 'secret_missing'
  | 'not_signed_in'
  | 'unsupported_protocol'
  | 'unknown_mode'
  | 'not_permitted'
  | 'ended'
  | 'timed_out'
  | 'busy'
  | 'denial_ignored'
  | 'turn_failed'
  | 'agent_error';

/** The agent cannot be started or continued. People see the message. */
export class AgentProblem extends Error {
  readonly code: ProblemCode;

  constructor(message: string, code: ProblemCode = 'agent_error') {
    super(message);
    this.name = 'AgentProblem';
    this.code = code;
  }
}

/** The maximum number of characters of standard error in a message. */
const maxQuoteLength = 2_000;
/** Exit status of a shell for a program that it cannot find or cannot execute (POSIX.1-2017, 2.8.2). */
const notFound = 127;
const notExecutable = 126;
/** The error code for requests that require signing in first (Agent Client Protocol, "Error codes"). */
const authenticationRequired = -32_000;

/** The problem of a process that ended before its work was done. @param phase such as "while it was starting" */
export function endProblem(end: Exit & { errorOutput: string }, program: string, phase: string): AgentProblem {
  const quote = end.errorOutput.trim().slice(-maxQuoteLength);
  if (end.exitCode === notFound && quote.includes(program))
    return new AgentProblem(
      `The program \`${program}\` of the agent was not found. Install it on the machine of the service, or correct the definition of the agent.`,
      'program_not_found',
    );
  if (end.exitCode === notExecutable)
    return new AgentProblem(`The program \`${program}\` of the agent cannot be executed.${quoteOutput(quote)}`, 'program_not_found');
  const explanation = quote === '' ? ' It wrote nothing to standard error; start it manually to find out why.' : quoteOutput(quote);
  return new AgentProblem(`The agent ended ${phase} (${endInWords(end)}).${explanation}`, 'ended');
}

const quoteOutput = (text: string): string => (text === '' ? '' : ` It wrote:\n${text}`);

const endInWords = ({ exitCode, signal }: Exit): string => (signal === null ? `exit code ${exitCode}` : `signal ${signal}`);

/** The problem that an error response describes. @param phase such as "while it was starting" @param redactor applied to what the agent sent */
export function requestProblem(error: unknown, phase: string, redactor: Redactor): AgentProblem {
  if (error instanceof AgentProblem) return error;
  const { code, message: rawMessage, data: rawData } = error as { code?: unknown; message?: unknown; data?: unknown };
  const { message, data } = redactor.value({ message: String(rawMessage), data: rawData });
  if (code === authenticationRequired)
    return new AgentProblem(
      `The agent is not signed in. Store its API key with \`aops agents update AGENT --secret NAME=@FILE\`; logins of the machine do not count, because each run has a home folder of its own. The agent reports: ${firstLine(message)}`,
      'not_signed_in',
    );
  const details =
    data === undefined || data === null ? '' : ` ${typeof data === 'string' ? data : JSON.stringify(data)}`.slice(0, maxQuoteLength);
  return new AgentProblem(`The agent reported an error ${phase}: ${shorten(message, maxQuoteLength)}${details}`);
}
