/** What was wrong with a remote server, in words that a person can act on. */

import { formatDuration } from '../../base/duration.ts';
import { firstLine, shortened } from '../../base/values.ts';
import { hostTrouble } from '../host-trouble.ts';
import { OutboundError } from '../outbound/guarded-fetch.ts';

/** Milliseconds after which a server that has not even begun to answer counts as one that does not work. */
const enoughToBegin = 10_000;

/** The session took longer than it may. */
export class TimeLimitError extends Error {
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`there was no answer within ${formatDuration(milliseconds)}`);
    this.name = 'TimeLimitError';
    this.milliseconds = milliseconds;
  }
}

/** A connection that has no way in any more until a person has authorized it again. Its message is half a sentence. */
export class AuthorizationNeededError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AuthorizationNeededError';
  }
}

/**
 * Why a server could not be used. Its message is half a sentence.
 * `server`: it cannot be reached, refuses the credentials, or does not speak MCP. `call`: it is well and refused this one call.
 * `slow`: it was given too little time to say that it is there. `unclear`: it was there, and what became of the call is not known.
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

/** @param connected whether the server had answered as an MCP server before */
export function serverProblem(error: unknown, sdk: Sdk, connected: boolean): ServerProblem {
  if (error instanceof ServerProblem) return error;
  const causes = causesOf(error);
  const trouble = causes.find((cause) => hostTrouble(cause) !== undefined);
  // The server had no part in it.
  if (trouble !== undefined) throw trouble;
  const one = <T extends Error>(type: abstract new (...args: never[]) => T): T | undefined =>
    causes.find((cause): cause is T => cause instanceof type);
  const broken = (message: string): ServerProblem => new ServerProblem('server', message, { cause: error });
  const needed = one(AuthorizationNeededError);
  if (needed) return broken(needed.message);
  const late = one(TimeLimitError);
  const beginning = late !== undefined && late.milliseconds < enoughToBegin ? 'slow' : 'server';
  if (late) return new ServerProblem(connected ? 'unclear' : beginning, late.message, { cause: error });
  const outbound = one(OutboundError);
  if (outbound) return new ServerProblem(connected ? 'unclear' : 'server', outbound.message, { cause: error });
  const http = one(sdk.SdkHttpError);
  if (one(sdk.UnauthorizedError) || http?.status === 401) return broken('it refused the credentials (401)');
  if (http?.status === 403) return broken('it does not allow this with these credentials (403)');
  if (http?.status === 404 && connected) return new ServerProblem('unclear', 'it has forgotten the session (404)', { cause: error });
  if (http) return broken(`it answered ${http.status}${connected ? '' : ' where an MCP server would answer'}`);
  const rpc = one(sdk.ProtocolError);
  if (rpc && connected) return new ServerProblem('call', `it refused the call: ${shortLine(rpc.message)}`, { cause: error });
  if (rpc) return broken(`it refused to begin: ${shortLine(rpc.message)}`);
  if (!connected) return broken('what it answers is no MCP; is this the address of its MCP endpoint?');
  return one(sdk.SdkError) ? new ServerProblem('call', words(error), { cause: error }) : broken(words(error));
}

const words = (error: unknown): string => `what it answered cannot be used: ${shortLine(foundWrong((error as Error).message))}`;

/** The library says what is wrong with an answer as a list in JSON, over many lines: the first of it, and where. */
export function foundWrong(message: string): string {
  const [, start = '', list] = /^([^[]+: )?(\[\s.*\])$/s.exec(message) ?? [];
  if (list === undefined) return message;
  try {
    const [{ path, message: what }] = JSON.parse(list) as [{ path: (string | number)[]; message: string }];
    return `${start}${path.length === 0 ? '' : `${path.join('.')}: `}${what}`;
  } catch {
    return message;
  }
}

const shortLine = (text: string): string => shortened(firstLine(text), 300);

/** The error and what it was made from, the outermost first. */
function causesOf(error: unknown): Error[] {
  const found: Error[] = [];
  const visit = (one: unknown): void => {
    if (!(one instanceof Error) || found.includes(one) || found.length > 10) return;
    found.push(one);
    visit(one.cause);
    visit((one as { data?: { cause?: unknown } }).data?.cause);
  };
  visit(error);
  return found;
}
