/** A check in words, as lists and results show how a sentence was understood. Pure. */
import { formatDuration } from '../../base/duration.ts';
import type { Check, Range, TextTest } from './language.ts';

const not = (check: { not: boolean }): string => (check.not ? 'not ' : '');
const tested = ({ how, text }: TextTest): string => `${how} ${JSON.stringify(text)}`;

/** `final message contains "Paid"` */
export function checkInWords(check: Check): string {
  switch (check.kind) {
    case 'final_message':
      return `final message ${not(check)}${tested(check.test)}`;
    case 'any_message':
      return check.not ? `no message ${tested(check.test)}` : `some message ${tested(check.test)}`;
    case 'failed_calls':
      return check.atMost === 0 ? 'no tool call failed' : `at most ${check.atMost} tool calls failed`;
    case 'tool':
      return `tool ${check.name} called ${rangeInWords(check.range)}`;
    case 'file':
    case 'memory_file': {
      const file = `${check.kind === 'file' ? 'file' : 'memory file'} ${check.path}`;
      if (check.what === 'exists') return `${file} ${check.not ? 'does not exist' : 'exists'}`;
      return check.what === 'empty' ? `${file} is ${not(check)}empty` : `${file} ${not(check)}${tested(check.what)}`;
    }
    case 'duration':
      return `took ${check.bound} ${formatDuration(check.milliseconds)}`;
    case 'person': {
      const of = check.title === undefined ? '' : ` ${JSON.stringify(check.title)}`;
      return `${check.not ? 'nobody' : 'a person'} ${check.did}${of}`;
    }
    case 'outcome':
      return `run ${not(check)}${check.status}`;
  }
}

export function rangeInWords({ least, most }: Range): string {
  if (most === 0) return 'never';
  if (most === Number.POSITIVE_INFINITY) return least === 1 ? 'at least once' : `at least ${least} times`;
  if (least === most) return least === 1 ? 'once' : `${least} times`;
  return `at most ${most} times`;
}
