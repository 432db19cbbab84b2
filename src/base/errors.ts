/**
 * The error type that every folder throws and only `main` prints, and the table of exit codes.
 * Folders add their own subclasses where callers need to tell failures apart by type.
 */

/** Exit codes of `aops`; the same in every output mode. Documented in docs/exit-codes.md. */
export const exitCodes = {
  done: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  forbidden: 5,
  conflict: 6,
  rateLimited: 7,
  unavailable: 8,
  timeout: 9,
  runFailed: 10,
  runInterrupted: 11,
  runWaiting: 12,
  outcomeUnknown: 13,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Facts about a failure that scripts may rely on; never contains a secret. */
export interface ErrorDetails {
  /** HTTP status, when the service answered. */
  status?: number;
  method?: string;
  path?: string;
  request_id?: string;
  idempotency_key?: string;
  /** Seconds until a rate-limited request may be sent again. */
  retry_after_seconds?: number;
  /** The same as a moment, ISO 8601. */
  reset_at?: string;
}

export interface AopsErrorOptions {
  /** A stable word for scripts, in snake_case: `agent_not_found`. */
  code: string;
  exit: ExitCode;
  /** What to do next, as a sentence. */
  hint?: string | undefined;
  details?: ErrorDetails;
  cause?: unknown;
  /** The person chose this outcome: it is shown as a note, not as an error. */
  isIntended?: boolean;
}

/** A failure with a message for people, a code for scripts and the exit code of the process. */
export class AopsError extends Error {
  readonly code: string;
  readonly exit: ExitCode;
  readonly hint: string | undefined;
  readonly details: ErrorDetails;
  readonly isIntended: boolean;

  constructor(message: string, options: AopsErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.exit = options.exit;
    this.hint = options.hint;
    this.details = options.details ?? {};
    this.isIntended = options.isIntended ?? false;
  }
}

/** Bad flag, argument or input: exit 2. */
export class UsageError extends AopsError {
  constructor(message: string, hint?: string, code = 'usage') {
    super(message, { code, exit: exitCodes.usage, hint });
  }
}

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether the error comes from code that met what it was not written for: a mistake of aops, or something unknown in an answer. */
export const isUnexpected = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError || error instanceof SyntaxError;
