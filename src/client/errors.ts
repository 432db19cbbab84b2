/** Errors of the HTTP client, each with its exit code. */
import { capitalize } from '../base/capitalize.ts';
import { formatDuration } from '../base/duration.ts';
import { AopsError, type AopsErrorOptions, type ErrorDetails, type ExitCode, exitCodes } from '../base/errors.ts';
import { type OperationId, operation } from '../interface/operations.ts';
import type { ErrorBody } from '../interface/types.ts';
import type { AnsweredError } from './error-body.ts';
import type { RpcFailure } from './json-rpc.ts';

const exits: Record<number, ExitCode> = {
  400: exitCodes.usage,
  401: exitCodes.auth,
  403: exitCodes.forbidden,
  404: exitCodes.notFound,
  405: exitCodes.usage,
  409: exitCodes.conflict,
  410: exitCodes.notFound,
  413: exitCodes.usage,
  415: exitCodes.usage,
  // What frameworks answer to invalid input; the interface uses 400.
  422: exitCodes.usage,
  429: exitCodes.rateLimited,
};

/** The exit code of an error status. */
export const exitOfStatus = (status: number): ExitCode => exits[status] ?? (status >= 500 ? exitCodes.unavailable : exitCodes.failure);

const hintOfStatus: Record<number, string> = {
  401: 'Sign in with `aops auth login`, or start the local service with `aops local up`.',
  403: 'Ask an administrator of the team for access, or choose another profile with --profile.',
};

const hintOfCode: Record<string, string> = {
  body_too_large: 'Shorten the input. A run can read a long text from a file: `aops runs start --upload FILE`.',
  route_not_found: 'This service does not offer the operation: it may belong to another version, or only to the local service.',
  insufficient_scope:
    'Use a credential with that scope: another profile with --profile, or a new credential from the owner of the service.',
  owner_only:
    'Use the profile of the owner, which `aops local up` creates: --profile local. For nodes that share a database, pass --database-url.',
  team_not_found: 'See which team is used, and why, with `aops config explain team_id`.',
  run_not_found: 'See the runs with `aops runs list`.',
  agent_not_found: 'See the agents with `aops agents list`.',
  revision_not_found: 'See the revisions of an agent with `aops revisions list AGENT`.',
  queue_not_found: 'See the queues with `aops queues list`.',
  case_not_found: 'See the cases of a queue with `aops cases list QUEUE`.',
  artifact_not_found: 'See the artifacts with `aops artifacts list`.',
  connection_not_found: 'See the connections with `aops connections list`.',
  sandbox_not_found: 'Create a sandbox with `aops sandbox create`. A sandbox that no run uses is removed after a day.',
  file_not_found: 'See the files with `aops sandbox ls`.',
  not_a_directory: 'Read a file with `aops sandbox cat`.',
  not_a_file: 'List a folder with `aops sandbox ls`.',
  webhook_not_found: 'See the webhooks with `aops webhooks list`.',
  run_file_not_found: 'See the files of a run with `aops runs files RUN`.',
  delivery_not_found: 'See the deliveries with `aops webhooks deliveries`.',
  agent_has_case_trigger: 'Move it with `aops agents triggers update AGENT --queue QUEUE`.',
  queue_in_use: 'Move or delete the case trigger first: `aops agents triggers delete AGENT`.',
  agent_has_no_live_revision:
    'Give it a procedure with `aops agents update AGENT --procedure FILE`, or promote an existing revision with `aops revisions promote AGENT@latest`.',
  agent_name_taken: 'Choose another name, or give the existing agent a new procedure with `aops agents update NAME --procedure FILE`.',
  human_request_pending:
    'Answer it with `aops runs respond RUN`, or send a message as the answer with `aops runs send RUN MESSAGE --as-answer`.',
  rubric_exists: 'Change it with `aops agents rubrics update`.',
  disk_full:
    'Free some space on the disk of the service; everything that waits then continues by itself. For a service on this machine, `aops doctor` shows how much space is left.',
  plan_limit_reached: 'See your usage with `aops billing usage`.',
};

/** The error code for scripts: that of the service, or `not_found` for "Not Found", since frameworks put the status phrase there. */
const codeWord = (error: string): string =>
  /^[A-Z][A-Za-z' -]*$/.test(error) ? error.toLowerCase().replace(/'/g, '').replace(/[ -]+/g, '_') : error;

/** The service answered with an error status (interface part 7). */
export class ServiceAnswerError extends AopsError {
  readonly status: number;
  /** Where in the input the problems are, if the service reports it. */
  readonly problems: NonNullable<ErrorBody['details']>;
  /** The failure in the form of the Model Context Protocol, if the response has that form. */
  readonly rpc: RpcFailure | undefined;

  constructor(status: number, body: AnsweredError, details: ErrorDetails, hint?: string) {
    const advice = hint ?? (Object.hasOwn(hintOfCode, body.error) ? hintOfCode[body.error] : hintOfStatus[status]);
    super(body.message ?? `The service answered ${status} ${body.error}.`, {
      code: codeWord(body.error),
      exit: exitOfStatus(status),
      ...(advice === undefined ? {} : { hint: advice }),
      details: { status, ...details },
    });
    this.status = status;
    this.problems = body.details ?? [];
    this.rpc = body.rpc;
  }
}

/** The operation is an extension (`extension` in the contract), and this service does not offer it. */
export class NotOfferedError extends AopsError {
  /** @param isCertain false when the resource may be missing instead */
  constructor(id: OperationId, isCertain: boolean, details: ErrorDetails) {
    const operationText = `${id} (${operation(id).method} ${operation(id).path})`;
    super(isCertain ? `This service does not offer ${operationText}.` : `Not found, or this service does not offer ${operationText}.`, {
      code: isCertain ? 'not_offered' : 'not_found',
      exit: exitCodes.notFound,
      hint: 'The operation is an extension of the interface. The local service offers it (`aops local up`), but other services might not.',
      details,
    });
  }
}

/** Statuses with which a service rejects a route, or a method of it, that it does not know. */
const unknownRoute: readonly number[] = [404, 405, 501];

/**
 * The error of a failed call, as NotOfferedError if the response means that the service does not offer the operation. Only the status
 * is reliable, since the texts differ between services. A response whose code names a resource in the path, such as
 * `delivery_not_found`, comes from a service that knows the operation.
 */
export function toNotOfferedError(id: OperationId, error: unknown): unknown {
  const { extension, path } = operation(id);
  if (!extension || !(error instanceof ServiceAnswerError) || !unknownRoute.includes(error.status)) return error;
  const resource = /^(\w+)_not_found$/.exec(error.code)?.[1];
  if (resource !== undefined && path.toLowerCase().replaceAll('-', '_').includes(resource)) return error;
  const namesResource = path.replace('{teamId}', '').includes('{');
  return new NotOfferedError(id, error.status !== 404 || !namesResource, error.details);
}

/** The service could not be reached, or gave no usable answer, after all attempts. */
export class UnavailableError extends AopsError {
  /** Whether trying again is pointless, as with a certificate that is not trusted. */
  final = false;

  constructor(message: string, details: ErrorDetails, cause?: unknown, hint?: string) {
    super(message, { code: 'service_unavailable', exit: exitCodes.unavailable, details, cause, ...(hint === undefined ? {} : { hint }) });
  }
}

/** A change was sent and may or may not have been carried out: no answer arrived, or nobody waited for it any longer. */
export class OpenChangeError extends AopsError {
  /** Whether the journal contains the change, so that `aops retry` can settle it. */
  readonly isNoted: boolean;

  constructor(message: string, { isNoted, ...options }: Omit<AopsErrorOptions, 'hint'> & { isNoted: boolean }) {
    super(message, { ...options, hint: repeatHint(options.details?.idempotency_key, isNoted) });
    this.isNoted = isNoted;
  }
}

const repeatHint = (key: string | undefined, isNoted: boolean): string => {
  const repeat = `run the same command again with --idempotency-key ${key}. Within 24 hours it is carried out at most once.`;
  return isNoted ? `Settle it with \`aops retry ${key}\`, or ${repeat}` : capitalize(repeat);
};

/** A change was sent, but no answer arrived: it may or may not have been carried out. */
export class OutcomeUnknownError extends OpenChangeError {
  constructor(reason: string, details: ErrorDetails, { isNoted, cause }: { isNoted: boolean; cause?: unknown }) {
    super(`The outcome is unknown: ${reason}`, { code: 'outcome_unknown', exit: exitCodes.outcomeUnknown, details, isNoted, cause });
  }
}

/** The response is larger than what is read into memory. Requesting less may help. */
export class AnswerTooLargeError extends AopsError {
  /** @param reason what was too large, as part of a sentence */
  constructor(reason: string, details: ErrorDetails, cause: unknown) {
    super(`The service answered, but ${reason}.`, {
      code: 'answer_too_large',
      exit: exitCodes.failure,
      hint: 'Request less at a time, such as fewer rows with --limit.',
      details,
      cause,
    });
  }
}

/** The service accepted the request, but its response is not the object that the interface describes. */
export class UnusableAnswerError extends AopsError {
  /** @param missing what is missing in the response, such as `the list "runs"` */
  constructor(details: ErrorDetails, missing = 'the object') {
    super(`The service answered ${details.status} without ${missing} that this operation returns.`, {
      code: 'unusable_answer',
      exit: exitCodes.failure,
      hint: 'Check that the base URL belongs to an agent operations service (`aops config explain`).',
      details,
    });
  }
}

/** The service answered with another resource than the requested one. */
export const wrongResource = (word: string, id: string, details: ErrorDetails): AopsError =>
  new AopsError(`The service answered with another ${word} than ${id}.`, {
    code: 'unusable_answer',
    exit: exitCodes.failure,
    hint: 'Nothing was changed. Check that the base URL belongs to an agent operations service (`aops config explain`).',
    details,
  });

/** A service may answer that a run is not visible (further groups, getRun: `run` is null). */
export const runNotVisible = (details: ErrorDetails): AopsError =>
  new AopsError(`The service does not show the run ${details.path?.split('/').at(-1)}.`, {
    code: 'run_not_shown',
    exit: exitCodes.notFound,
    hint: 'It may have been removed, or this credential may not have access to it. See the runs with `aops runs list`.',
    details,
  });

/** The reason why a change was abandoned, with the key to find out its outcome. */
export function abandonedChange(reason: unknown, details: ErrorDetails, isNoted: boolean): unknown {
  if (!(reason instanceof AopsError) || details.idempotency_key === undefined) return reason;
  return new OpenChangeError(`${reason.message} The change may have been carried out.`, {
    code: reason.code,
    exit: reason.exit,
    isNoted,
    details: { ...reason.details, ...details },
    cause: reason,
  });
}

/** The service requests a longer pause than `--max-wait` allows. */
export class RateLimitedError extends AopsError {
  constructor(waitMilliseconds: number, maxWaitMilliseconds: number, details: ErrorDetails) {
    const seconds = Math.ceil(waitMilliseconds / 1_000);
    super(
      `Rate limited: the service requests a wait of ${seconds} s, more than the ${Math.round(maxWaitMilliseconds / 1_000)} s that --max-wait allows.`,
      {
        code: 'rate_limited',
        exit: exitCodes.rateLimited,
        hint: `Try again in ${seconds} s, or allow the wait with --max-wait ${seconds + 1}s.`,
        details: { ...details, retry_after_seconds: seconds },
      },
    );
  }
}

/** The command's deadline (`--timeout`) would pass before another attempt; times in milliseconds. */
export class DeadlineError extends AopsError {
  constructor(reason: string, { wait, remaining }: { wait: number; remaining: number }, details: ErrorDetails = {}) {
    super(
      `The command cannot finish in time: ${reason}. The next attempt would be in ${formatDuration(wait)}, but --timeout leaves only ${formatDuration(remaining)}.`,
      { code: 'timeout', exit: exitCodes.timeout, hint: 'Allow more time with --timeout.', details },
    );
  }
}
