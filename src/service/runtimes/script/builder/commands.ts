/** What a statement asks for, as data. Pure. Carrying out a command asks for what is missing or unclear. */

import type { YAMLMap } from 'yaml';
import { markPattern, quoteAt, unmask } from '../../../words/quotes.ts';
import { originalText } from '../../../words/statements.ts';
import { readNewStep, type StepDraft } from './new-step.ts';
import { readReference, readReferences, type StepReference } from './references.ts';
import { readSchedule, type Schedule } from './schedule.ts';
import { type BuilderStatement, stepsIn } from './statements.ts';

/** Where a step goes. */
export type Place = 'start' | 'end' | { before: StepReference } | { after: StepReference };

export type Command =
  | { do: 'add'; steps: readonly (StepDraft | YAMLMap)[]; place: Place }
  | { do: 'remove'; steps: StepReference[] }
  | { do: 'move'; step: StepReference; place: Place | undefined }
  | { do: 'swap'; steps: [StepReference, StepReference] }
  | { do: 'replace step'; step: StepReference; with: StepDraft | YAMLMap | undefined }
  | { do: 'replace text'; from: string; to: string | undefined; in: StepReference[] | undefined }
  | { do: 'set'; key: string; step: StepReference; value: string | undefined }
  | { do: 'unset'; key: string; step: StepReference }
  | { do: 'add option' | 'remove option'; option: string; step: StepReference }
  | { do: 'rename'; step: StepReference; id: string | undefined }
  | { do: 'describe'; text: string | undefined }
  | { do: 'schedule'; schedule: Schedule };

type Reader = (found: RegExpExecArray, statement: BuilderStatement) => Command | undefined;

const value = `(?:\\s+(?:to|as|=|with)\\s+(.+))?`;
const keyWord = '([a-z][a-z_ ]*?)';
const step = (words: string | undefined, statement: BuilderStatement): StepReference => readReference(words ?? '', statement);
const textOf = (words: string | undefined, statement: BuilderStatement): string | undefined =>
  words === undefined ? undefined : originalText(statement, words);

/** The more specific forms come first. */
const forms: readonly (readonly [RegExp, Reader])[] = [
  [
    new RegExp(
      `^(?:set|change|update|make)\\s+(?:the\\s+)?(?:procedure(?:'s)?\\s+)?description(?:\\s+of (?:the|this) procedure)?${value}$`,
    ),
    (found, s) => ({ do: 'describe', text: textOf(found[1], s) }),
  ],
  [/^describe (?:it|the procedure|this procedure|this) as\s+(.+)$/, (found, s) => ({ do: 'describe', text: textOf(found[1], s) })],
  [
    new RegExp(`^(?:remove|delete|drop)\\s+(?:the\\s+)?option\\s+(${markPattern}|[^\\s]+)\\s+(?:from|of|in)\\s+(.+)$`),
    (found, s) => ({ do: 'remove option', option: originalText(s, found[1] as string), step: step(found[3], s) }),
  ],
  [
    new RegExp(`^(?:add|append)\\s+(?:the\\s+|an\\s+)?option\\s+(${markPattern}|[^\\s]+)\\s+(?:to|in)\\s+(.+)$`),
    (found, s) => ({ do: 'add option', option: originalText(s, found[1] as string), step: step(found[3], s) }),
  ],
  [
    new RegExp(`^(?:remove|delete|drop|unset|clear)\\s+(?:the\\s+)?${keyWord}\\s+(?:of|from|in)\\s+(.+)$`),
    (found, s) => ({ do: 'unset', key: found[1] as string, step: step(found[2], s) }),
  ],
  [/^always (?:do|run|execute)\s+(.+)$/, (found, s) => ({ do: 'unset', key: 'condition', step: step(found[1], s) })],
  [/^(?:remove|delete|drop|cut|take out)\s+(.+)$/, (found, s) => ({ do: 'remove', steps: readReferences(found[1] as string, s) })],
  [
    /^(?:swap|exchange|switch)\s+(?:steps\s+)?(.+?)\s+(?:and|with)\s+(.+)$/,
    (found, s) => ({ do: 'swap', steps: [step(found[1], s), step(found[2], s)] }),
  ],
  [
    /^move\s+(.+)$/,
    (found, s) =>
      placed(found[1] as string, s, (rest, place) => ({ do: 'move', step: step(rest.replace(/\s+to$/, ''), s), place }), undefined),
  ],
  [/^rename\s+(.+?)(?:\s+(?:to|as|into)\s+(.+))?$/, (found, s) => ({ do: 'rename', step: step(found[1], s), id: textOf(found[2], s) })],
  [
    new RegExp(
      `^(?:replace|change)\\s+(?:the text\\s+)?(${markPattern})(?:\\s+(?:with|by|to|into)\\s+(${markPattern}))?(?:\\s+(?:in|of)\\s+(.+)|\\s+everywhere)?$`,
    ),
    (found, s) => replaceText(found, s),
  ],
  [
    /^(?:only (?:do|run|execute)\s+(.+?)|(?:do|run|execute)\s+(.+?) only|make\s+(.+?) conditional)\s+(?:if|when|on)\s+(.+)$/,
    (found, s) => ({ do: 'set', key: 'condition', step: step(found[1] ?? found[2] ?? found[3], s), value: textOf(found[4], s) }),
  ],
  [/^(?:replace|change|turn)\s+(.+?)\s+(?:with|by|to|into)\s+(?:a step (?:that|which)\s+)?(.+)$/, (found, s) => replaceStep(found, s)],
  [
    /^(?:replace|change)\s+(.+)$/,
    (found, s) =>
      s.yaml?.[0]
        ? { do: 'replace step', step: step((found[1] as string).replace(/\s+(?:with|by|to)$/, ''), s), with: s.yaml[0] }
        : undefined,
  ],
  [
    new RegExp(`^(?:set|change|update|make|give)\\s+(?:the\\s+)?${keyWord}\\s+(?:of|in|for|on)\\s+(.+?)${value}$`),
    (found, s) => ({ do: 'set', key: found[1] as string, step: step(found[2], s), value: textOf(found[3], s) }),
  ],
  [
    new RegExp(`^(?:set|change|update|make)\\s+(.+?)'s\\s+${keyWord}${value}$`),
    (found, s) => ({ do: 'set', key: found[2] as string, step: step(found[1], s), value: textOf(found[3], s) }),
  ],
  [
    /^give\s+(.+?)\s+(?:a|an|the)\s+([a-z][a-z_ ]*?)(?:\s+of)?\s+(\uE000.+|\d.+|continue|stop|fail)$/,
    (found, s) => ({ do: 'set', key: found[2] as string, step: step(found[1], s), value: textOf(found[3], s) }),
  ],
];

/** What a statement asks for; undefined when it is not understood. */
export function readCommand(statement: BuilderStatement): Command | undefined {
  const schedule = readSchedule(statement);
  if (schedule !== undefined) return { do: 'schedule', schedule };
  for (const [pattern, read] of forms) {
    const match = pattern.exec(statement.words);
    const command = match && read(match, statement);
    if (command) return command;
  }
  return readAdd(statement);
}

const adding = /^(?:add|insert|put|append|create|include)\b\s*/;
const aStep = /^(?:(?:a|an|another|one|the|this|these|following)\s+)*(?:new\s+)?(?:steps?\b(?:\s+(?:that|which|to))?|(?=\uE000))?\s*:?\s*/;

function readAdd(statement: BuilderStatement): Command | undefined {
  const explicit = adding.test(statement.words);
  const front =
    /^((?:right |directly |immediately |just )?(?:before|after|at|in)\b[^,\uE000]*(?:\uE000\d+\uE001)?[^,\uE000]*),\s*(.+)$/.exec(
      statement.words,
    );
  const words = front ? `${front[2]} ${front[1]}` : statement.words;
  return placed(
    words,
    statement,
    (rest, place) => {
      const description = rest
        .replace(adding, '')
        .replace(explicit || adding.test(rest) ? aStep : /^/, '')
        .replace(/^(?:a|an|another)\s+/, '');
      if (statement.yaml && (description === '' || adding.test(rest))) return { do: 'add', steps: statement.yaml, place: place ?? 'end' };
      const quote = quoteAt(description, statement.quotes);
      const yaml = quote?.code ? stepsIn(quote.text) : undefined;
      if (yaml) return { do: 'add', steps: yaml, place: place ?? 'end' };
      const draft = readNewStep(description, statement);
      return draft && { do: 'add', steps: [draft], place: place ?? 'end' };
    },
    'end',
  );
}

const atPlace =
  /[,\s]+(?:at|to|in)\s+(?:the\s+)?(?:very\s+)?(end|bottom|beginning|start|top|front)(?:\s+of (?:it|the procedure|the list))?(?=$|[,\s]+(?:as|if|with|only)\b)/;
const byStep = /[,\s]+(?:right |directly |immediately |just )?(before|after)\s+(.+)$/;
const asStep = /[,\s]+(?:as|at)\s+(?:the\s+)?(?:step\s+(\d+)|(first|last)(?:\s+step)?)$/;
const laterEnding = /[,\s]+(?:as|if|when|with|only|on)\s.*$/;

/** Removes the place from words, wherever it appears among the endings, and passes on the rest. */
function placed(
  words: string,
  statement: BuilderStatement,
  make: (rest: string, place: Place | undefined) => Command | undefined,
  fallback: Place | undefined,
): Command | undefined {
  const at = atPlace.exec(words);
  if (at) {
    const rest = words.slice(0, at.index) + words.slice(at.index + at[0].length);
    return make(rest, /end|bottom/.test(at[1] as string) ? 'end' : 'start');
  }
  const as = asStep.exec(words);
  if (as) {
    const place: Place = as[2] === 'first' ? 'start' : as[2] === 'last' ? 'end' : { before: { by: 'number', number: Number(as[1]) } };
    return make(words.slice(0, as.index), place);
  }
  const by = byStep.exec(words);
  if (!by) return make(words, fallback);
  // `add ... after step 2 as pay`: what follows the reference belongs to the step.
  const reference = by[2] as string;
  const colon = /\s*:\s*(.+)$/.exec(reference);
  const ending = colon ?? laterEnding.exec(reference);
  const named = ending === null ? reference : reference.slice(0, ending.index);
  const rest = words.slice(0, by.index) + (colon ? ` ${colon[1]}` : (ending?.[0] ?? ''));
  const place = step(named, statement);
  return make(rest, by[1] === 'before' ? { before: place } : { after: place });
}

function replaceText(match: RegExpExecArray, statement: BuilderStatement): Command | undefined {
  const from = unmask(match[1] as string, statement.quotes);
  const to = match[3] === undefined ? undefined : unmask(match[3], statement.quotes);
  const where =
    match[5] === undefined || /^(?:all steps|every step|the (?:whole )?procedure|everything)$/.test(match[5])
      ? undefined
      : readReferences(match[5], statement);
  return { do: 'replace text', from, to, in: where };
}

function replaceStep(match: RegExpExecArray, statement: BuilderStatement): Command | undefined {
  const target = step(match[1], statement);
  if (target.by === 'unclear' || target.by === 'text') {
    if (!/^(?:the )?(?:step|command|question|approval|message|wait)\b/.test(match[1] as string)) return undefined;
  }
  const words = (match[2] as string).replace(/^(?:a|an)\s+/, '');
  const quote = quoteAt(words, statement.quotes);
  const yaml = quote?.code ? stepsIn(quote.text)?.[0] : statement.yaml?.[0];
  const other = yaml ?? readNewStep(words, statement);
  return other && { do: 'replace step', step: target, with: other };
}
