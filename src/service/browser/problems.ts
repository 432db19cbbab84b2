/** Failures of a browser, in words for the author of the procedure. */
import { formatDuration } from '../../base/duration.ts';
import { messageOf } from '../../base/errors.ts';
import { firstLine } from '../../base/values.ts';
import { ServiceError } from '../errors.ts';

/** A page does not behave as the procedure expects. */
export const browseFailed = (message: string): ServiceError => new ServiceError(400, 'browse_failed', message);

const networkErrors: Record<string, string> = {
  ERR_ADDRESS_UNREACHABLE: 'the address cannot be reached',
  ERR_CERT_AUTHORITY_INVALID: 'its certificate is not trusted',
  ERR_CERT_COMMON_NAME_INVALID: 'its certificate is for another name',
  ERR_CERT_DATE_INVALID: 'its certificate has expired, or is not valid yet',
  ERR_CONNECTION_CLOSED: 'the connection was closed',
  ERR_CONNECTION_REFUSED: 'the connection was refused',
  ERR_CONNECTION_RESET: 'the connection was reset',
  ERR_CONNECTION_TIMED_OUT: 'the connection timed out',
  ERR_EMPTY_RESPONSE: 'the server sent an empty response',
  ERR_INTERNET_DISCONNECTED: 'this machine is not connected',
  ERR_NAME_NOT_RESOLVED: 'the host name is unknown',
  ERR_TOO_MANY_REDIRECTS: 'it redirects in a loop',
};

/** Why a page could not be opened. */
export function navigationProblem(url: string, error: unknown, timeoutMs: number): ServiceError {
  const message = plainMessage(error);
  if (isTimeout(error)) return browseFailed(`${url} was not loaded within ${formatDuration(timeoutMs)}`);
  if (message.includes('Download is starting'))
    return browseFailed(`${url} is a download, not a page; use the \`download\` action on the page that links to it`);
  const code = /net::(ERR_\w+)/.exec(message)?.[1];
  if (code === undefined) return browseFailed(`${url} could not be opened: ${message}`);
  const words = networkErrors[code];
  return browseFailed(`${url} could not be opened: ${words === undefined ? code : `${words} (${code})`}`);
}

/** Why an action on an element failed. `matches` is the number of elements that the selector currently finds, if known. */
export function elementProblem(selector: string, error: unknown, timeoutMs: number, matches: number | undefined): ServiceError {
  const element = `\`${selector}\``;
  const message = plainMessage(error);
  const matchCount = /resolved to (\d+) elements/.exec(message)?.[1];
  if (matchCount !== undefined) return browseFailed(`${matchCount} elements match ${element}; write a selector that matches only one`);
  if (!isTimeout(error)) return browseFailed(`${element}: ${message}`);
  const timePhrase = `within ${formatDuration(timeoutMs)}`;
  if (matches === 0) return browseFailed(`no element matches ${element} ${timePhrase}`);
  const reason = reasonOf(error);
  return browseFailed(`the element ${element} could not be used ${timePhrase}${reason === undefined ? '' : `: ${reason}`}`);
}

/** Any other failure of an action; `failure` describes it in the past tense: "the page did not contain …". */
export const actionProblem = (failure: string, error: unknown, timeoutMs: number): ServiceError =>
  browseFailed(isTimeout(error) ? `${failure} within ${formatDuration(timeoutMs)}` : `${failure}: ${plainMessage(error)}`);

/** Why the browser did not start. */
export function startProblem(executable: string, error: unknown): ServiceError {
  const text = textOf(error);
  if (/No usable sandbox|SUID sandbox helper|setuid sandbox/i.test(text)) {
    return browseFailed(
      `${executable} did not start: the system does not allow it to create a sandbox. Allow unprivileged user namespaces, or set AOPS_CHROMIUM to a script that starts it with --no-sandbox; see "Browsing" in docs/local-service.md`,
    );
  }
  const loggedError = /\[(?:err|out)\]\s*(.*(?:error|cannot|failed|not found).*)/i.exec(text)?.[1];
  return browseFailed(`${executable} did not start: ${loggedError ?? plainMessage(error)}`);
}

/** Whether a URL was not loaded because the page started to load another one in the meantime. */
export const isInterrupted = (error: unknown): boolean => textOf(error).includes('is interrupted by another navigation');

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the library colours its messages
const textOf = (error: unknown): string => messageOf(error).replace(/\x1b\[[0-9;]*m/g, '');

/** The first line of an error of the library, without the name of its function. */
function plainMessage(error: unknown): string {
  const message = firstLine(textOf(error))
    .replace(/^\w+\.\w+: /, '')
    .replace(/^Error: /, '')
    .trim();
  return /^(?:Target|Page) crashed$/.test(message) ? 'the page crashed' : message;
}

/** What the library was waiting for at the end, such as an element that is not visible. */
function reasonOf(error: unknown): string | undefined {
  const lines = textOf(error).split('\n');
  return lines
    .findLast((line) => /element is not|intercepts pointer events|is not an? |not enabled|did not find/.test(line))
    ?.replace(/^[\s-]+/, '');
}
