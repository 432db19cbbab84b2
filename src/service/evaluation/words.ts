/** Checks in words: how lists and results show what a sentence was understood to mean. Pure. */
import { formatDuration } from '../../base/duration.ts';
import type { Check, Range, TextTest } from './language.ts';

const testInWords = ({ comparison, text }: TextTest, not: boolean): string =>
  `${not ? negations[comparison] : comparison} ${JSON.stringify(text)}`;
const negations: Record<TextTest['comparison'], string> = {
  contains: 'does not contain',
  'starts with': 'does not start with',
  'ends with': 'does not end with',
  is: 'is not',
};

/** `final message contains "Paid"` */
export function checkInWords(check: Check): string {
  switch (check.kind) {
    case 'final_message':
      return `final message ${testInWords(check.test, check.not)}`;
    case 'any_message':
      return `${check.not ? 'no' : 'some'} message ${testInWords(check.test, false)}`;
    case 'failed_calls':
      return check.atMost === 0 ? 'no tool call failed' : `at most ${check.atMost} tool calls failed`;
    case 'tool':
      return check.range.max === 0 ? `tool ${check.name} never called` : `tool ${check.name} called ${rangeInWords(check.range)}`;
    case 'file':
    case 'memory_file': {
      const file = `${check.kind === 'file' ? 'file' : 'memory file'} ${check.path}`;
      if (check.expectation === 'exists') return `${file} ${check.not ? 'does not exist' : 'exists'}`;
      return check.expectation === 'empty'
        ? `${file} is ${check.not ? 'not empty' : 'empty'}`
        : `${file} ${testInWords(check.expectation, check.not)}`;
    }
    case 'duration':
      return `took ${check.bound} ${formatDuration(check.milliseconds)}`;
    case 'person': {
      const title = check.title === undefined ? '' : ` ${JSON.stringify(check.title)}`;
      return `${check.not ? 'nobody' : 'a person'} ${check.decision}${title}`;
    }
    case 'outcome':
      return check.not ? notOutcomes[check.status] : outcomes[check.status];
  }
}

const outcomes = { completed: 'run completed', failed: 'run failed', interrupted: 'run was interrupted' } as const;
const notOutcomes = { completed: 'run did not complete', failed: 'run did not fail', interrupted: 'run was not interrupted' } as const;

export function rangeInWords({ min, max }: Range): string {
  if (max === 0) return 'never';
  if (max === Number.POSITIVE_INFINITY) return min === 1 ? 'at least once' : `at least ${min} times`;
  if (min === max) return min === 1 ? 'once' : `${min} times`;
  return `at most ${max} times`;
}
