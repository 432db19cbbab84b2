/** The commands that a statement consists of. */
import { ordinalPattern } from '../../words/ordinals.ts';
import { markPattern, maskQuotes, type Quote } from '../../words/quotes.ts';
import { boundaryOr, maskedStatements, normalize, type Statement, textOf } from '../../words/statements.ts';
import { type BlockRequest, readBlockRequest } from './block-request.ts';
import { notUnderstoodError } from './help.ts';

export type Command =
  | { do: 'title'; title: string }
  | { do: 'text'; text: string }
  | { do: 'add'; blockRequest: BlockRequest; statement: Statement }
  /** Without a reference, changes the selected part or the only one. */
  | { do: 'change'; reference: string | undefined; blockRequest: BlockRequest; statement: Statement }
  | { do: 'remove'; reference: string; statement: Statement }
  | { do: 'move'; reference: string; to: 'up' | 'down' | 'first' | 'last'; statement: Statement }
  | { do: 'clear' };

const title =
  /^(?:(?:set |change |make )?(?:the )?(?:page )?title(?: of the page)?(?: is| to)?|(?:call|name|rename) (?:it|this|the page|this page)(?: to)?|rename to)(?=[:\s])[:\s]*(.+)$/i;
const text = /^(?:(?:add|write|put|insert) )?(?:a |the )?(?:text|note|paragraph|sentence|comment)(?=[:\s])[:\s]*(.+)$/i;
const remove = /^(?:remove|delete|drop|hide|take out|take away) (.+)$/i;
const clear =
  /^(?:(?:remove|delete|drop|clear) (?:everything|all|all of it|the page|the whole page)|start (?:over|again|afresh)|empty the page)$/i;
const move = /^move (.+?) (?:to the |to |at the )?(up|down|top|start|beginning|first|end|bottom|last)$/i;
const reference = `it|this|that|these|(?:the )?selected (?:part|element|block|chart|table)|(?:the )?${ordinalPattern}(?: (?:one|block|part|section|table|chart|list))?|(?:block|part|section|number )?\\s*\\d+|${markPattern}`;
const change = new RegExp(
  `^(?:make|turn|change|convert|set|show|draw|display) (?:(${reference})(?: (?:into|to|as|be))?|(the .+?) (?:into|to|as|be|an?)) (.+)$`,
  'i',
);

const boundary = boundaryOr();
/** Separates block requests within a statement: `runs by status, usage and agents`. */
const joint = /\s*,\s*(?:and\s+|plus\s+)?|\s+(?:and|plus|as well as)\s+/i;

/** The statements of a message, in their order. */
export function readStatements(message: string): Statement[] {
  const quotes: Quote[] = [];
  return maskQuotes(normalize(message), quotes)
    .replaceAll(/[^\S\n]+/g, ' ')
    .split('\n')
    .flatMap((line) => maskedStatements(line, quotes, boundary));
}

/** The commands of a statement. @throws RefusalError */
export function readCommands(statement: Statement): Command[] {
  const result = readOne(statement);
  if (result.command) return [result.command];
  const parts = maskedStatements(statement.original, statement.quotes, joint);
  if (parts.length < 2) throw notUnderstoodError(statement, result.unknownWords);
  const commands: Command[] = [];
  let previous: BlockRequest | undefined;
  for (const part of parts) {
    const { command, unknownWords } = readOne(part);
    if (command === undefined) throw notUnderstoodError(part, unknownWords);
    // "runs by status and by agent": the second block request repeats the subject and the filters of the first.
    const repeatsSubject = command.do === 'change' && command.reference === undefined && previous !== undefined;
    const read: Command = repeatsSubject
      ? { do: 'add', blockRequest: { ...filtersOf(previous), ...command.blockRequest }, statement: part }
      : command;
    previous = read.do === 'add' ? read.blockRequest : undefined;
    commands.push(read);
  }
  return commands;
}

const filtersOf = ({ subject, type, period, statuses, agent, queue }: BlockRequest = {}): BlockRequest => ({
  ...(subject && { subject }),
  ...(type && { type }),
  ...(period && { period }),
  ...(statuses && { statuses }),
  ...(agent !== undefined && { agent }),
  ...(queue !== undefined && { queue }),
});

function readOne(statement: Statement): { command?: Command; unknownWords: string[] } {
  const { original } = statement;
  const result = (command: Command) => ({ command, unknownWords: [] });
  const titleText = title.exec(original)?.[1];
  if (titleText !== undefined && isOneText(titleText)) return result({ do: 'title', title: textOf(statement, titleText) });
  const partText = text.exec(original)?.[1];
  if (partText !== undefined && isOneText(partText)) return result({ do: 'text', text: textOf(statement, partText) });
  if (clear.test(original)) return result({ do: 'clear' });
  const moveMatch = move.exec(original);
  if (moveMatch)
    return result({
      do: 'move',
      reference: moveMatch[1] as string,
      to: places[(moveMatch[2] as string).toLowerCase()] ?? 'last',
      statement,
    });
  const removedPart = remove.exec(original)?.[1];
  if (removedPart !== undefined && !/\s(?:and|plus)\s|,/.test(removedPart))
    return result({ do: 'remove', reference: removedPart, statement });
  const changeMatch = change.exec(original);
  if (changeMatch) {
    const last = changeMatch.at(-1) as string;
    const words = (changeMatch[1] ?? changeMatch.at(-2)) as string;
    const target = /^(?:it|this|that|these|(?:the )?selected\b.*)$/i.test(words) ? undefined : words;
    const { blockRequest, unknownWords } = readBlockRequest(statement, last.toLowerCase());
    if (unknownWords.length === 0 && blockRequest.subject === undefined && isNotEmpty(blockRequest))
      return result({ do: 'change', reference: target, blockRequest, statement });
  }
  const isReplacement = /\s+instead$/i.test(original);
  const { blockRequest, unknownWords } = readBlockRequest(statement, statement.words.replace(/\s+instead$/, ''));
  if (unknownWords.length > 0 || !isNotEmpty(blockRequest)) return { unknownWords };
  if (blockRequest.subject === undefined || isReplacement) return result({ do: 'change', reference: undefined, blockRequest, statement });
  return result({ do: 'add', blockRequest, statement });
}

const places: Record<string, 'up' | 'down' | 'first' | 'last'> = {
  up: 'up',
  down: 'down',
  top: 'first',
  start: 'first',
  beginning: 'first',
  first: 'first',
};

const isNotEmpty = (blockRequest: BlockRequest): boolean => Object.keys(blockRequest).length > 0;

/** Whether words are a single quoted text, or a text without quotes. */
const isOneText = (words: string): boolean => !/\uE000/.test(words) || new RegExp(`^${markPattern}$`).test(words.trim());
