/** Errors as people and scripts read them on stderr. */
import { AopsError, type ErrorDetails, type ExitCode, exitCodes, isUnexpected } from '../base/errors.ts';
import { escapeJson, sanitize, sanitizeLine } from './sanitize.ts';
import { plainStyles, type Styles } from './style.ts';

export interface ErrorView {
  /** One JSON object instead of lines of text. */
  json: boolean;
  /** Styles of stderr; plain when left out. */
  styles?: Styles;
  /** Adds the stack traces of the error and its causes. */
  debug?: boolean;
  /** Completes the commands that a hint suggests. */
  suggested?: (hint: string) => string;
}

/** The exit code with which an error ends the process. */
export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof AopsError ? error.exit : exitCodes.failure;
}

/**
 * The text for stderr, without a final line feed: `{"error": {...}}` on one line; or what failed, the details of the
 * request, and what to do next, each on its own line.
 */
export function renderError(error: unknown, view: ErrorView): string {
  return view.json ? errorJson(error, view) : errorLines(error, view);
}

const errorJson = (error: unknown, view: ErrorView): string =>
  escapeJson(JSON.stringify({ error: { ...errorFields(error), hint: hintOf(error, view) } }));

const mistakeHint = 'This is a mistake in aops. Run the command again with --debug, and report what it prints.';

function hintOf(error: unknown, { suggested, debug }: ErrorView): string | undefined {
  if (isUnexpected(error)) return debug ? undefined : mistakeHint;
  const hint = error instanceof AopsError ? error.hint : undefined;
  return hint === undefined || suggested === undefined ? hint : suggested(hint);
}

/** An error as programs read it. */
export function errorFields(error: unknown): Record<string, unknown> {
  const aopsError = error instanceof AopsError ? error : undefined;
  const { status, method, path, request_id, idempotency_key, ...otherDetails }: ErrorDetails = aopsError?.details ?? {};
  // JSON leaves undefined members out.
  return {
    code: aopsError?.code ?? 'unexpected',
    message: messageOf(error),
    status,
    hint: aopsError?.hint,
    exit: exitCodeOf(error),
    method,
    path,
    request_id,
    idempotency_key,
    ...otherDetails,
  };
}

function errorLines(error: unknown, view: ErrorView): string {
  const { styles = plainStyles, debug = false } = view;
  // Further lines are indented, so that an untrusted message cannot fake a hint.
  const message = sanitize(messageOf(error)).trimEnd().replaceAll('\n', '\n  ');
  const lines = [error instanceof AopsError && error.isIntended ? message : `${styles.error('error:')} ${message}`];
  const facts = error instanceof AopsError ? factsOf(error.details) : '';
  if (facts) lines.push(styles.dim(`  ${facts}`));
  const hint = hintOf(error, view);
  if (hint) lines.push(`${styles.accent('hint:')} ${sanitize(hint).replaceAll('\n', '\n  ')}`);
  if (debug) lines.push(styles.dim(sanitize(stacksOf(error))));
  return lines.join('\n');
}

/** `POST /v2/runs -> 409, request req_1, idempotency key k_1` */
function factsOf({ status, method, path, request_id, idempotency_key }: ErrorDetails): string {
  const request = [method, path].filter(Boolean).join(' ');
  const facts = [
    status === undefined ? request : `${request || 'the service'} -> ${status}`,
    request_id && `request ${request_id}`,
    idempotency_key && `idempotency key ${idempotency_key}`,
  ];
  return sanitizeLine(facts.filter(Boolean).join(', '));
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' && error !== '' ? error : 'An unknown error occurred.';
}

function stacksOf(error: unknown): string {
  const stacks: string[] = [];
  // The chain of causes may be circular.
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    stacks.push(`${depth > 0 ? 'caused by ' : ''}${current.stack ?? current.message}`);
  }
  return stacks.join('\n');
}
