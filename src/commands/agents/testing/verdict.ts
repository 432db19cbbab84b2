/** Compares what was observed in a test with what its file expects. Pure. */
import { isUtf8 } from 'node:buffer';
import { matchesPattern } from '../../../watch/answers.ts';
import { type ContentRules, inWords, quoted, rulesOf, violations } from './matching.ts';
import type { AgentTest, FileRule, MessageRule } from './schema.ts';

/** What happened in a test. */
export interface Observation {
  /** The status in which the run was left, and its error. */
  status: string;
  error: string | null;
  /** Texts of the agent. */
  messages: readonly string[];
  /** Titles of the requests, in the order in which they were made. */
  requests: readonly string[];
  /** Why the test was ended before the run was, as a sentence. */
  aborted: string | undefined;
  /** The status of the case, and the reasons in its history; undefined without a case. */
  case?: { status: string; reasons: readonly string[] } | undefined;
  /** The content of each file that the test names; undefined if it does not exist. */
  files: ReadonlyMap<string, Buffer | undefined>;
}

/** An expectation that was not met. */
export interface Failure {
  expectation: 'status' | 'error' | 'requests' | 'messages' | 'case' | 'files';
  /** What is different, as a sentence. */
  message: string;
  /** The file that it is about. */
  path?: string;
  /** Both sides, if a diff explains the difference. */
  comparison?: { before: string; after: string };
}

/** @param sameAs the contents that `same_as` refers to, by the path in the test file */
export function failuresOf({ expect = {} }: AgentTest, seen: Observation, sameAs: ReadonlyMap<string, Buffer>): Failure[] {
  return [
    ...statusFailures(expect.status ?? 'completed', seen),
    ...(expect.error === undefined ? [] : errorFailures(expect.error, seen)),
    ...(expect.requests === undefined ? [] : requestFailures(expect.requests, seen.requests)),
    ...messageFailures(expect.messages ?? [], seen.messages),
    ...(expect.no_messages ?? []).flatMap((rule) => unwantedMessages(rule, seen.messages)),
    ...caseFailures(expect.case ?? {}, seen.case),
    ...Object.entries(expect.files ?? {}).flatMap(([path, rule]) => fileFailures(path, rule, seen.files.get(path), sameAs)),
  ];
}

function statusFailures(expected: string, { status, error, aborted, requests }: Observation): Failure[] {
  if (aborted !== undefined) return [{ expectation: 'status', message: aborted }];
  if (status === expected) return [];
  const reason =
    status === 'waiting' ? `the test has no answer for ${quoted(requests.at(-1) ?? '')}` : error === null ? undefined : shortenError(error);
  return [{ expectation: 'status', message: `The run is ${status} instead of ${expected}${reason === undefined ? '.' : `: ${reason}`}` }];
}

function errorFailures(rule: MessageRule, { error }: Observation): Failure[] {
  if (error === null) return [{ expectation: 'error', message: 'The run has no error.' }];
  return violations(error, rulesOf(rule)).map((violation) => ({ expectation: 'error', message: `The error ${violation}: ${error}` }));
}

/** All requests are compared, so that a request that nobody expected is noticed. */
function requestFailures(expected: readonly string[], requests: readonly string[]): Failure[] {
  const isEqual = expected.length === requests.length && expected.every((pattern, index) => matchesPattern(pattern, requests[index] ?? ''));
  if (isEqual) return [];
  if (requests.length === 0) return [{ expectation: 'requests', message: 'The agent made no request.' }];
  // A pattern that fits is not a difference.
  const before = expected.map((pattern, index) => (matchesPattern(pattern, requests[index] ?? '') ? requests[index] : pattern));
  const comparison = { before: lines(before), after: lines(requests) };
  return [{ expectation: 'requests', message: 'The agent made other requests than expected.', comparison }];
}

const lines = (texts: readonly (string | undefined)[]): string => texts.map((text) => `${text}\n`).join('');

/** The most lines of an error that are shown; it can quote what a program wrote. */
const maxErrorLines = 12;

function shortenError(error: string): string {
  const lines = error.split('\n');
  return lines.length <= maxErrorLines ? error : [...lines.slice(0, maxErrorLines), '…'].join('\n');
}

/** The longest list of messages in a failure. */
const maxListed = 10;
/** Maximum length of a line of such a list, in characters. */
const maxLineLength = 200;

/** Each rule is looked for after the message that the previous one applied to. */
function messageFailures(rules: readonly MessageRule[], messages: readonly string[]): Failure[] {
  let position = 0;
  for (const [index, rule] of rules.entries()) {
    const found = messages.findIndex((text, at) => at >= position && meets(text, rule));
    if (found >= 0) {
      position = found + 1;
      continue;
    }
    const isEarlier = messages.some((text) => meets(text, rule));
    const place = isEarlier && index > 0 ? ` after the one that ${inWords(rules[index - 1] as MessageRule)}` : '';
    return [{ expectation: 'messages', message: `No message${place} ${inWords(rule)}. ${listed(messages)}` }];
  }
  return [];
}

function listed(messages: readonly string[]): string {
  if (messages.length === 0) return 'The agent sent no messages.';
  const last = messages
    .slice(-maxListed)
    .map((text) => `  ${quoted(text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text)}`);
  const omitted = messages.length > maxListed ? [`  (${messages.length - maxListed} earlier messages)`] : [];
  return ['The agent sent:', ...omitted, ...last].join('\n');
}

const unwantedMessages = (rule: MessageRule, messages: readonly string[]): Failure[] => {
  const found = messages.find((text) => meets(text, rule));
  return found === undefined
    ? []
    : [{ expectation: 'messages', message: `A message ${inWords(rule)}, although none should: ${quoted(found)}` }];
};

const meets = (text: string, rule: MessageRule): boolean => violations(text, rulesOf(rule)).length === 0;

function caseFailures(
  { status, reason }: NonNullable<NonNullable<AgentTest['expect']>['case']>,
  seen: Observation['case'] = { status: 'unknown', reasons: [] },
): Failure[] {
  const isReasonMissing = reason !== undefined && !seen.reasons.some((text) => meets(text, reason));
  const reasons =
    seen.reasons.length === 0
      ? 'There are no reasons.'
      : ['The reasons are:', ...seen.reasons.map((text) => `  ${quoted(text)}`)].join('\n');
  return [
    ...(status === undefined || status === seen.status
      ? []
      : [{ expectation: 'case' as const, message: `The case is ${seen.status} instead of ${status}.` }]),
    ...(isReasonMissing ? [{ expectation: 'case' as const, message: `No reason of the case ${inWords(reason)}. ${reasons}` }] : []),
  ];
}

function fileFailures(path: string, rule: FileRule, content: Buffer | undefined, sameAs: ReadonlyMap<string, Buffer>): Failure[] {
  const { absent, same_as: other, ...rules } = rulesOf(rule) as ContentRules & { absent?: boolean; same_as?: string };
  const failure = (message: string, comparison?: Failure['comparison']): Failure => ({
    expectation: 'files',
    path,
    message,
    ...(comparison === undefined ? {} : { comparison }),
  });
  if (content === undefined) return absent === true ? [] : [failure(`${path} does not exist.`)];
  if (absent === true) return [failure(`${path} exists, although it should not.`)];
  const failures: Failure[] = [];
  const expected = other === undefined ? undefined : sameAs.get(other);
  if (expected !== undefined && !expected.equals(content)) {
    const comparison = isUtf8(expected) && isUtf8(content) ? { before: expected.toString(), after: content.toString() } : undefined;
    failures.push(failure(`${path} is different from ${other}.`, comparison));
  }
  const text = content.toString();
  for (const violation of violations(text, rules)) {
    const comparison =
      violation.startsWith('is different') && rules.equals !== undefined ? { before: rules.equals, after: text } : undefined;
    failures.push(failure(`${path} ${violation}.`, comparison));
  }
  return failures;
}
