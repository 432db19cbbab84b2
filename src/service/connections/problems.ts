/** Problems with a remote server, in words that a person can act on. */

import { formatDuration } from '../../base/duration.ts';
import { firstLine, shorten } from '../../base/values.ts';
import { hostTrouble } from '../host-trouble.ts';
import { OutboundError } from '../outbound/guarded-fetch.ts';

/** The time after which a server that has not started to respond is considered broken, in milliseconds. */
const maxConnectTime = 10_000;

/** The session exceeded its time limit. */
export class TimeLimitError extends Error {
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`there was no response within ${formatDuration(milliseconds)}`);
    this.name = 'TimeLimitError';
    this.milliseconds = milliseconds;
  }
}

/** A connection cannot be used until a person authorizes it again. Its message is half a sentence. */
export class AuthorizationNeededError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AuthorizationNeededError';
  }
}

/**
 * Why a server could not be used. Its message is half a sentence.
 * `server`: it cannot be reached, refuses the credentials, or does not support MCP. `call`: it works, but refused this call.
 * `slow`: the time was too short to tell whether it works. `unclear`: it works, but the outcome of the call is unknown.
 */
export class ServerProblem extends Error {
  readonly kind: 'server' | 'call' | 'slow' | 'unclear';

  constructor(kind: ServerProblem['kind'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerProblem';
    this.kind = kind;
  }
}

type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'SdkHttpError' | 'ProtocolError' | 'UnauthorizedError' | 'SdkError'>;

/** @param isConnected whether the server had already responded as an MCP server */
export function serverProblem(error: unknown, sdk: Sdk, isConnected: boolean): ServerProblem {
  if (error instanceof ServerProblem) return error;
  const causes = causesOf(error);
  const problem = causes.find((cause) => hostTrouble(cause) !== undefined);
  // The server did not cause it.
  if (problem !== undefined) throw problem;
  const causeOf = <T extends Error>(type: abstract new (...args: never[]) => T): T | undefined =>
    causes.find((cause): cause is T => cause instanceof type);
  const serverFault = (message: string): ServerProblem => new ServerProblem('server', message, { cause: error });
  const authorizationNeeded = causeOf(AuthorizationNeededError);
  if (authorizationNeeded) return serverFault(authorizationNeeded.message);
  const timeout = causeOf(TimeLimitError);
  const kind = timeout !== undefined && timeout.milliseconds < maxConnectTime ? 'slow' : 'server';
  if (timeout) return new ServerProblem(isConnected ? 'unclear' : kind, timeout.message, { cause: error });
  const outbound = causeOf(OutboundError);
  if (outbound) return new ServerProblem(isConnected ? 'unclear' : 'server', outbound.message, { cause: error });
  const http = causeOf(sdk.SdkHttpError);
  if (causeOf(sdk.UnauthorizedError) || http?.status === 401) return serverFault('it refused the credentials (401)');
  if (http?.status === 403) return serverFault('it does not allow this with these credentials (403)');
  if (http?.status === 404 && isConnected) return new ServerProblem('unclear', 'it has forgotten the session (404)', { cause: error });
  // A server that fails, or a proxy that has lost it, may have passed on the call.
  if (http && isConnected && Number(http.status) >= 500 && http.status !== 501)
    return new ServerProblem('unclear', `it responded with ${http.status}`, { cause: error });
  if (http) return serverFault(`it responded with ${http.status}${isConnected ? '' : ', unlike an MCP server'}`);
  const rpc = causeOf(sdk.ProtocolError);
  if (rpc && isConnected) return new ServerProblem('call', `it refused the call: ${shortLine(rpc.message)}`, { cause: error });
  if (rpc) return serverFault(`it refused to start a session: ${shortLine(rpc.message)}`);
  if (!isConnected) return serverFault('its response is not MCP; is this the URL of its MCP endpoint?');
  return causeOf(sdk.SdkError) ? new ServerProblem('call', words(error), { cause: error }) : serverFault(words(error));
}

const words = (error: unknown): string => `its response is invalid: ${shortLine(firstProblem((error as Error).message))}`;

/** The library reports invalid responses as a JSON list over many lines: returns the first problem and its path. */
export function firstProblem(message: string): string {
  const [, start = '', list] = /^([^[]+: )?(\[\s.*\])$/s.exec(message) ?? [];
  if (list === undefined) return message;
  try {
    const [{ path, message: problem }] = JSON.parse(list) as [{ path: (string | number)[]; message: string }];
    return `${start}${path.length === 0 ? '' : `${path.join('.')}: `}${problem}`;
  } catch {
    return message;
  }
}

const shortLine = (text: string): string => shorten(firstLine(text), 300);

/** The error and its causes, the outermost first. */
function causesOf(error: unknown): Error[] {
  const errors: Error[] = [];
  const visit = (error: unknown): void => {
    if (!(error instanceof Error) || errors.includes(error) || errors.length > 10) return;
    errors.push(error);
    visit(error.cause);
    visit((error as { data?: { cause?: unknown } }).data?.cause);
  };
  visit(error);
  return errors;
}
