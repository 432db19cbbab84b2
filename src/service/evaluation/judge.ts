/** Whether a run passes a check. Nothing is guessed: if the facts are insufficient, the verdict is undecided, with the reason. */
import { formatDuration } from '../../base/duration.ts';
import { pluralize } from '../../base/pluralize.ts';
import { shorten } from '../../base/values.ts';
import type { Facts, FileFinding } from './facts.ts';
import type { Check, Demand, TextTest } from './language.ts';
import { checkInWords, rangeInWords } from './words.ts';

export type Verdict = { status: 'passed' } | { status: 'failed' | 'undecided'; comment: string };

const pass: Verdict = { status: 'passed' };

/** All checks must pass. A failed check decides, even if others are undecided. */
export async function judge({ checks, unclearClauses }: Demand, facts: Facts): Promise<Verdict> {
  const verdicts: Verdict[] = [];
  const failures: string[] = [];
  for (const check of checks) {
    const verdict = await judgeCheck(check, facts);
    verdicts.push(verdict);
    if (verdict.status === 'failed') failures.push(`${checkInWords(check)}: ${verdict.comment}`);
  }
  if (failures.length > 0) return { status: 'failed', comment: failures.join('; ') };
  const reasons = [
    ...verdicts.flatMap((verdict) => (verdict.status === 'undecided' ? [verdict.comment] : [])),
    ...unclearClauses.map((text) => `"${text}" is not a sentence that can be checked`),
  ];
  if (reasons.length > 0) return { status: 'undecided', comment: reasons.join('; ') };
  return checks.length > 0 ? pass : { status: 'undecided', comment: 'it does not contain anything that can be checked' };
}

/** The comment is only what was found, without the check. */
export async function judgeCheck(check: Check, facts: Facts): Promise<Verdict> {
  switch (check.kind) {
    case 'final_message': {
      const last = facts.messages.at(-1);
      const holds = last !== undefined && meets(check.test, last);
      return verdict(holds !== check.not, last === undefined ? 'the run did not send a message' : `the final message is ${quote(last)}`);
    }
    case 'any_message': {
      const match = facts.messages.find((text) => meets(check.test, text));
      return verdict((match !== undefined) !== check.not, match === undefined ? 'no message does' : `one is ${quote(match)}`);
    }
    case 'failed_calls': {
      const failedCalls = facts.calls.filter(({ error }) => error !== undefined);
      const examples = failedCalls.slice(0, 3).map(({ name, error }) => `${name}: ${shortLine(error as string)}`);
      return verdict(failedCalls.length <= check.atMost, `${pluralize(failedCalls.length, 'call')} failed: ${examples.join('; ')}`);
    }
    case 'tool': {
      const times = facts.calls.filter(({ name }) => name === check.name).length;
      const { min, max } = check.range;
      return verdict(times >= min && times <= max, `it was called ${rangeInWords({ min: times, max: times })}`);
    }
    case 'file':
    case 'memory_file':
      return judgeFile(check, await (check.kind === 'file' ? facts.file(check.path) : facts.memoryFile(check.path)));
    case 'duration': {
      const { duration } = facts;
      if (duration === undefined) return { status: 'undecided', comment: 'the run never started' };
      const holds = check.bound === 'at most' ? duration <= check.milliseconds : duration >= check.milliseconds;
      return verdict(holds, `it took ${formatDuration(duration)}`);
    }
    case 'person': {
      const requests = facts.requests.filter(
        ({ title }) => check.title === undefined || meets({ comparison: 'contains', text: check.title }, title),
      );
      const matches = requests.filter(({ decision }) => check.decision === 'was asked' || decision === check.decision);
      const decisions = requests.map(({ title, decision }) => `${quote(title)} ${decision === 'none' ? 'not answered' : decision}`);
      return verdict(matches.length > 0 !== check.not, decisions.length === 0 ? 'nobody was asked' : decisions.join(', '));
    }
    case 'outcome': {
      const reason = facts.error === null ? '' : `: ${shortLine(facts.error)}`;
      return verdict(
        (facts.status === check.status) !== check.not,
        `the run ${facts.status === 'interrupted' ? 'was interrupted' : facts.status}${reason}`,
      );
    }
  }
}

function judgeFile(check: Extract<Check, { kind: 'file' | 'memory_file' }>, file: FileFinding): Verdict {
  if (file !== 'missing' && 'unknown' in file) {
    const tooLarge = check.expectation === 'exists' && file.unknown.includes('larger');
    return tooLarge ? verdict(!check.not, 'it exists') : { status: 'undecided', comment: file.unknown };
  }
  if (check.expectation === 'exists')
    return verdict((file !== 'missing') !== check.not, file === 'missing' ? 'it does not exist' : 'it exists');
  if (file === 'missing') return verdict(false, 'it does not exist');
  if (check.expectation === 'empty') return verdict((file.size === 0) !== check.not, `it has ${pluralize(file.size, 'byte')}`);
  return verdict(meets(check.expectation, file.text) !== check.not, 'its content does not match');
}

const verdict = (holds: boolean, finding: string): Verdict => (holds ? pass : { status: 'failed', comment: finding });

function meets({ comparison, text }: TextTest, whole: string): boolean {
  const [expected, actual] = [normalize(text), normalize(whole)];
  if (comparison === 'starts with') return actual.startsWith(expected);
  if (comparison === 'ends with') return actual.endsWith(expected);
  return comparison === 'is' ? actual === expected : actual.includes(expected);
}

const normalize = (text: string): string => text.replace(/\s+/g, ' ').trim().toLowerCase();
const shortLine = (text: string): string => shorten(text.replace(/\s+/g, ' ').trim(), 80);
const quote = (text: string): string => JSON.stringify(shortLine(text));
