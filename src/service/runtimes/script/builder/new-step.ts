/** A new step in words: what it does, and the details at the end (`as pay`, `if "..."`, `with timeout 5m`). Pure. */
import { markPattern, unmask } from '../../../words/quotes.ts';
import { originalText, type Statement } from '../../../words/statements.ts';
import type { StepKind } from '../schema.ts';

/** A step that can still lack required values. */
export interface StepDraft {
  kind: StepKind;
  /** Its main value: the text, question, title, command, or file; empty when the request does not contain it. */
  subject: string;
  /** The text of a file that is written. */
  content?: string;
  options?: string[];
  multiSelect?: boolean;
  id?: string;
  condition?: string;
  /** Further keys of the step, such as `timeout`. */
  extraFields: Record<string, string>;
}

/** The subject, at a word boundary. */
const text = `(?=[:\\s]|$):?\\s*(${markPattern}|.*?)`;
const wordPattern = '[^\\s,\uE000]+';
const timePattern =
  '\\d+(?:\\.\\d+)?\\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?:\\s*\\d+\\s*(?:ms|s|m|h))*';

type Ending = Pick<StepDraft, 'id' | 'condition' | 'multiSelect' | 'options' | 'extraFields'>;
type Reader = (text: string, statement: Statement) => Partial<Ending>;

const quotedExtra =
  (key: string): Reader =>
  (words, { quotes }) => ({ extraFields: { [key]: unmask(words, quotes) } });
const durationExtra =
  (key: string): Reader =>
  (words) => ({ extraFields: { [key]: durationWords(words) } });
const wordExtra =
  (key: string): Reader =>
  (words) => ({ extraFields: { [key]: words } });

/** What can follow a step, in any order. */
const endings: readonly (readonly [RegExp, Reader])[] = [
  [
    new RegExp(`[,\\s]+(?:as|with (?:the )?id|called|named)\\s+(${markPattern}|[a-z]\\w*)$`),
    (words, statement) => ({ id: originalText(statement, words) }),
  ],
  [new RegExp(`[,\\s]+(?:but )?(?:only )?(?:if|when)\\s+(${markPattern})$`), (words, { quotes }) => ({ condition: unmask(words, quotes) })],
  [new RegExp(`[,\\s]+(?:with (?:a )?)?(?:timeout|time limit)(?: of)?\\s+(${timePattern}|${wordPattern})$`), durationExtra('timeout')],
  [new RegExp(`[,\\s]+(?:which |that )?(?:takes|taking)\\s+(${timePattern})$`), durationExtra('takes')],
  [/[,\s]+(?:and )?(?:on (?:a )?denial|if denied|when denied|on deny)[,:]?\s+(continue|stop|fail)(?:s)?$/, wordExtra('on_deny')],
  [/[,\s]+(?:and )?(?:on (?:an )?error|if it fails|on failure)[,:]?\s+(continue|fail)s?$/, wordExtra('on_error')],
  [new RegExp(`[,\\s]+(?:and )?with (?:the |a )?description\\s+(${markPattern})$`), quotedExtra('description')],
  [new RegExp(`[,\\s]+(?:and )?with (?:the |a )?title\\s+(${markPattern})$`), quotedExtra('title')],
  [
    /[,\s]+(?:and )?(?:allow several|several (?:may|can) be chosen|choose several|multiple|multi[- ]select)()$/,
    () => ({ multiSelect: true }),
  ],
  [
    /[,\s]+(?:with|and|from)?\s*(?:the )?(?:options?|choices|answers)[:\s]+(.+)$/,
    (words, statement) => ({ options: listOf(words, statement) }),
  ],
];

/** What a step can be called in a request. The first group is its subject. */
const forms: readonly (readonly [StepKind, RegExp])[] = [
  [
    'approve',
    new RegExp(
      `^(?:approve|(?:ask|asks|asking) for (?:an )?approval|(?:require|request|requires|requests)(?: an)? approval|(?:an )?approval)(?: of| for| titled| called)?${text}$`,
    ),
  ],
  ['ask', new RegExp(`^(?:ask|asks|asking|(?:a )?question)(?: (?:the )?(?:user|person|people)| somebody| for)?${text}$`)],
  [
    'sleep',
    new RegExp(
      `^(?:wait|waits|sleep|sleeps|pause|pauses|(?:a )?(?:wait|pause))(?: for| of)?(?=\\s|$)\\s*(${timePattern}|${wordPattern})?$`,
    ),
  ],
  ['complete_case', new RegExp(`^(?:complete|completes)(?: the)? case(?: with| as)?(?: the)?(?: note)?${text}$`)],
  ['fail_case', new RegExp(`^(?:fail|fails)(?: the)? case(?: with| because of)?(?: the)?(?: reason)?${text}$`)],
  ['postpone_case', new RegExp(`^(?:postpone|postpones)(?: the)? case(?: for| by)?(?=\\s|$)\\s*(${timePattern}|${wordPattern})?$`)],
  ['fail', new RegExp(`^(?:fail|fails|(?:a )?failure)(?: the run)?(?: with)?(?: the text)?${text}$`)],
  ['screenshot', new RegExp(`^(?:(?:take|takes|show|shows) )?(?:a )?screenshot(?: of| from)?${text}$`)],
  ['browse', new RegExp(`^(?:open|opens|browse|browses|visit|visits)(?: to)?(?: the)?(?: page)?${text}$`)],
  ['tool', new RegExp(`^(?:call|calls|use|uses)(?: the)?(?: tool)?${text}$`)],
  ['exec', new RegExp(`^(?:run|runs|exec|execute|executes)(?: the)?(?: (?:shell )?command)?${text}$`)],
  ['exec', new RegExp(`^(?:a )?(?:shell )?command${text}$`)],
  ['say', new RegExp(`^(?:say|says|saying|tell|tells|print|prints|greet with|(?:a )?(?:message|greeting))(?: the text)?${text}$`)],
];

const writeTo = new RegExp(
  `^(?:write|writes|save|saves)\\s+(${markPattern})\\s+(?:to|into|in)(?: the file)?\\s+(${markPattern}|${wordPattern})$`,
);
const writeWith = new RegExp(
  `^(?:write|writes|create|creates|(?:a )?file)(?: (?:the |a )?file)?\\s+(${markPattern}|${wordPattern})(?:\\s+(?:with|containing)(?: the)?(?: text| content)?\\s+(${markPattern}))?$`,
);

const caseIn = new RegExp(
  `^(?:(?:create|creates|add|adds) )?(?:a )?(?:new )?case(?: called| titled)?\\s+(${markPattern}|${wordPattern})(?:\\s+(?:to|in|into)(?: the)?(?: queue)?\\s+(${markPattern}|${wordPattern}))?$`,
);

/** The step that words describe; undefined when they do not describe a step. */
export function readNewStep(words: string, statement: Statement): StepDraft | undefined {
  let ending: Ending = { extraFields: {} };
  let remaining = words.trim();
  for (let hasMatch = true; hasMatch; ) {
    hasMatch = false;
    for (const [pattern, read] of endings) {
      const match = pattern.exec(remaining);
      if (!match) continue;
      const next = read(match[1] ?? '', statement);
      ending = { ...ending, ...next, extraFields: { ...ending.extraFields, ...next.extraFields } };
      remaining = remaining.slice(0, match.index);
      hasMatch = true;
    }
  }
  const body = readBody(remaining.trim(), statement);
  return body && { ...body, ...ending };
}

function readBody(words: string, statement: Statement): Omit<StepDraft, 'extraFields'> | undefined {
  const to = writeTo.exec(words);
  if (to) return { kind: 'write', subject: originalText(statement, to[3] as string), content: unmask(to[1] as string, statement.quotes) };
  const caseMatch = caseIn.exec(words);
  if (caseMatch) {
    const queue = originalText(statement, caseMatch[3] ?? '');
    return { kind: 'create_case', subject: originalText(statement, caseMatch[1] ?? ''), ...(queue === '' ? {} : { content: queue }) };
  }
  for (const [kind, pattern] of forms) {
    const match = pattern.exec(words);
    if (!match) continue;
    const subject = originalText(statement, match[1] ?? '');
    return { kind, subject: kind === 'sleep' || kind === 'postpone_case' ? durationWords(subject) : subject };
  }
  const file = writeWith.exec(words);
  if (!file) return undefined;
  return {
    kind: 'write',
    subject: originalText(statement, file[1] as string),
    ...(file[3] === undefined ? {} : { content: unmask(file[3], statement.quotes) }),
  };
}

/** `"A", "B" or C` */
export function listOf(words: string, statement: Statement): string[] {
  return words
    .split(/\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or)\s+/)
    .map((part) => originalText(statement, part.trim()))
    .filter((part) => part !== '');
}

const units: Record<string, string> = { milliseconds: 'ms', seconds: 's', secs: 's', minutes: 'm', mins: 'm', hours: 'h', days: 'd' };

/** `5 minutes` becomes `5m`; other texts are unchanged. */
export function durationWords(words: string): string {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(words.trim());
  if (!match) return /^(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\s*)+$/.test(words) ? words.replaceAll(/\s/g, '') : words.trim();
  const unit = (match[2] as string).toLowerCase();
  return `${match[1]}${units[unit] ?? units[`${unit}s`] ?? unit}`;
}
