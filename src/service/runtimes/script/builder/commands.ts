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

type Reader = (match: RegExpExecArray, statement: BuilderStatement) => Command | undefined;

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
    (match, statement) => ({ do: 'describe', text: textOf(match[1], statement) }),
  ],
  [
    /^describe (?:it|the procedure|this procedure|this) as\s+(.+)$/,
    (match, statement) => ({ do: 'describe', text: textOf(match[1], statement) }),
  ],
  [
    new RegExp(`^(?:remove|delete|drop)\\s+(?:the\\s+)?option\\s+(${markPattern}|[^\\s]+)\\s+(?:from|of|in)\\s+(.+)$`),
    (match, statement) => ({ do: 'remove option', option: originalText(statement, match[1] as string), step: step(match[3], statement) }),
  ],
  [
    new RegExp(`^(?:add|append)\\s+(?:the\\s+|an\\s+)?option\\s+(${markPattern}|[^\\s]+)\\s+(?:to|in)\\s+(.+)$`),
    (match, statement) => ({ do: 'add option', option: originalText(statement, match[1] as string), step: step(match[3], statement) }),
  ],
  [
    new RegExp(`^(?:remove|delete|drop|unset|clear)\\s+(?:the\\s+)?${keyWord}\\s+(?:of|from|in)\\s+(.+)$`),
    (match, statement) => ({ do: 'unset', key: match[1] as string, step: step(match[2], statement) }),
  ],
  [/^always (?:do|run|execute)\s+(.+)$/, (match, statement) => ({ do: 'unset', key: 'condition', step: step(match[1], statement) })],
  [
    /^(?:remove|delete|drop|cut|take out)\s+(.+)$/,
    (match, statement) => ({ do: 'remove', steps: readReferences(match[1] as string, statement) }),
  ],
  [
    /^(?:swap|exchange|switch)\s+(?:steps\s+)?(.+?)\s+(?:and|with)\s+(.+)$/,
    (match, statement) => ({ do: 'swap', steps: [step(match[1], statement), step(match[2], statement)] }),
  ],
  [
    /^move\s+(.+)$/,
    (match, statement) =>
      withPlace(
        match[1] as string,
        statement,
        (remaining, place) => ({ do: 'move', step: step(remaining.replace(/\s+to$/, ''), statement), place }),
        undefined,
      ),
  ],
  [
    /^rename\s+(.+?)(?:\s+(?:to|as|into)\s+(.+))?$/,
    (match, statement) => ({ do: 'rename', step: step(match[1], statement), id: textOf(match[2], statement) }),
  ],
  [
    new RegExp(
      `^(?:replace|change)\\s+(?:the text\\s+)?(${markPattern})(?:\\s+(?:with|by|to|into)\\s+(${markPattern}))?(?:\\s+(?:in|of)\\s+(.+)|\\s+everywhere)?$`,
    ),
    (match, statement) => replaceText(match, statement),
  ],
  [
    /^(?:only (?:do|run|execute)\s+(.+?)|(?:do|run|execute)\s+(.+?) only|make\s+(.+?) conditional)\s+(?:if|when|on)\s+(.+)$/,
    (match, statement) => ({
      do: 'set',
      key: 'condition',
      step: step(match[1] ?? match[2] ?? match[3], statement),
      value: textOf(match[4], statement),
    }),
  ],
  [
    /^(?:replace|change|turn)\s+(.+?)\s+(?:with|by|to|into)\s+(?:a step (?:that|which)\s+)?(.+)$/,
    (match, statement) => replaceStep(match, statement),
  ],
  [
    /^(?:replace|change)\s+(.+)$/,
    (match, statement) =>
      statement.yaml?.[0]
        ? { do: 'replace step', step: step((match[1] as string).replace(/\s+(?:with|by|to)$/, ''), statement), with: statement.yaml[0] }
        : undefined,
  ],
  [
    new RegExp(`^(?:set|change|update|make|give)\\s+(?:the\\s+)?${keyWord}\\s+(?:of|in|for|on)\\s+(.+?)${value}$`),
    (match, statement) => ({ do: 'set', key: match[1] as string, step: step(match[2], statement), value: textOf(match[3], statement) }),
  ],
  [
    new RegExp(`^(?:set|change|update|make)\\s+(.+?)'s\\s+${keyWord}${value}$`),
    (match, statement) => ({ do: 'set', key: match[2] as string, step: step(match[1], statement), value: textOf(match[3], statement) }),
  ],
  [
    /^give\s+(.+?)\s+(?:a|an|the)\s+([a-z][a-z_ ]*?)(?:\s+of)?\s+(\uE000.+|\d.+|continue|stop|fail)$/,
    (match, statement) => ({ do: 'set', key: match[2] as string, step: step(match[1], statement), value: textOf(match[3], statement) }),
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

const addPattern = /^(?:add|insert|put|append|create|include)\b\s*/;
const stepArticle =
  /^(?:(?:a|an|another|one|the|this|these|following)\s+)*(?:new\s+)?(?:steps?\b(?:\s+(?:that|which|to))?|(?=\uE000))?\s*:?\s*/;

function readAdd(statement: BuilderStatement): Command | undefined {
  const hasVerb = addPattern.test(statement.words);
  const leadingPlace =
    /^((?:right |directly |immediately |just )?(?:before|after|at|in)\b[^,\uE000]*(?:\uE000\d+\uE001)?[^,\uE000]*),\s*(.+)$/.exec(
      statement.words,
    );
  const words = leadingPlace ? `${leadingPlace[2]} ${leadingPlace[1]}` : statement.words;
  return withPlace(
    words,
    statement,
    (remaining, place) => {
      const description = remaining
        .replace(addPattern, '')
        .replace(hasVerb || addPattern.test(remaining) ? stepArticle : /^/, '')
        .replace(/^(?:a|an|another)\s+/, '');
      if (statement.yaml && (description === '' || addPattern.test(remaining)))
        return { do: 'add', steps: statement.yaml, place: place ?? 'end' };
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
function withPlace(
  words: string,
  statement: BuilderStatement,
  make: (remaining: string, place: Place | undefined) => Command | undefined,
  fallback: Place | undefined,
): Command | undefined {
  const placeMatch = atPlace.exec(words);
  if (placeMatch) {
    const remaining = words.slice(0, placeMatch.index) + words.slice(placeMatch.index + placeMatch[0].length);
    return make(remaining, /end|bottom/.test(placeMatch[1] as string) ? 'end' : 'start');
  }
  const numberMatch = asStep.exec(words);
  if (numberMatch) {
    const place: Place =
      numberMatch[2] === 'first'
        ? 'start'
        : numberMatch[2] === 'last'
          ? 'end'
          : { before: { by: 'number', number: Number(numberMatch[1]) } };
    return make(words.slice(0, numberMatch.index), place);
  }
  const stepMatch = byStep.exec(words);
  if (!stepMatch) return make(words, fallback);
  // `add ... after step 2 as pay`: what follows the reference belongs to the step.
  const reference = stepMatch[2] as string;
  const colon = /\s*:\s*(.+)$/.exec(reference);
  const ending = colon ?? laterEnding.exec(reference);
  const name = ending === null ? reference : reference.slice(0, ending.index);
  const remaining = words.slice(0, stepMatch.index) + (colon ? ` ${colon[1]}` : (ending?.[0] ?? ''));
  const place = step(name, statement);
  return make(remaining, stepMatch[1] === 'before' ? { before: place } : { after: place });
}

function replaceText(match: RegExpExecArray, statement: BuilderStatement): Command | undefined {
  const from = unmask(match[1] as string, statement.quotes);
  const to = match[3] === undefined ? undefined : unmask(match[3], statement.quotes);
  const references =
    match[5] === undefined || /^(?:all steps|every step|the (?:whole )?procedure|everything)$/.test(match[5])
      ? undefined
      : readReferences(match[5], statement);
  return { do: 'replace text', from, to, in: references };
}

function replaceStep(match: RegExpExecArray, statement: BuilderStatement): Command | undefined {
  const target = step(match[1], statement);
  if (target.by === 'unclear' || target.by === 'text') {
    if (!/^(?:the )?(?:step|command|question|approval|message|wait)\b/.test(match[1] as string)) return undefined;
  }
  const words = (match[2] as string).replace(/^(?:a|an)\s+/, '');
  const quote = quoteAt(words, statement.quotes);
  const yaml = quote?.code ? stepsIn(quote.text)?.[0] : statement.yaml?.[0];
  const replacement = yaml ?? readNewStep(words, statement);
  return replacement && { do: 'replace step', step: target, with: replacement };
}
