/** The part of a page that a request refers to. */
import { pluralize } from '../../../base/pluralize.ts';
import { shorten } from '../../../base/values.ts';
import type { SelectedElement } from '../../../interface/types.ts';
import type { Asker } from '../../words/asking.ts';
import { ordinalPattern, positionOf } from '../../words/ordinals.ts';
import { RefusalError } from '../../words/outcome.ts';
import { type Statement, textOf } from '../../words/statements.ts';
import { type Block, timeFields } from '../page.ts';
import { titleOf } from '../subjects.ts';

export interface Place {
  readonly blocks: readonly Block[];
  readonly selected: SelectedElement | undefined;
  readonly asker: Asker;
}

const numberPattern = /^(?:(?:the )?(?:block|part|section|number) )?(\d+)$/;
const nth = new RegExp(`^(?:the )?(${ordinalPattern})(?: (?:one|block|part|section|table|chart|list))?$`);
const filler = new Set(['the', 'a', 'an', 'of', 'part', 'block', 'section', 'one', 'element', 'selected', 'with', 'about']);

/** The heading of a block of figures, or the beginning of a text. */
export const nameOf = (block: Block): string => (block.kind === 'data' ? titleOf(block) : `Text "${shorten(block.text, 40)}"`);

/** The block that words refer to; without words, the selected or the only block. @throws OpenQuestion, RefusalError */
export function resolveReference(place: Place, statement: Statement, reference: string | undefined): Block {
  const { blocks } = place;
  if (blocks.length === 0) throw new RefusalError(`The page is still empty, so "${statement.text}" does not refer to anything.`);
  const words = (reference ?? 'it').toLowerCase().trim();
  if (/^(?:it|this|that|these|(?:the )?selected\b.*)$/.test(words)) return blockInFocus(place, statement, reference);
  const ordinal = nth.exec(words)?.[1];
  const position = ordinal === undefined ? numberPattern.exec(words)?.[1] : positionOf(ordinal);
  if (position !== undefined) {
    const block = blocks[position === -1 ? blocks.length - 1 : Number(position) - 1];
    if (block) return block;
    throw new RefusalError(`The page has ${pluralize(blocks.length, 'part')}; there is no number ${position}.`);
  }
  const terms = textOf(statement, reference as string)
    .toLowerCase()
    .split(/[^\p{L}\p{N}-]+/u)
    .filter((word) => word !== '' && !filler.has(word));
  const matches = blocks.filter((block) => terms.every((word) => describes(block, word)));
  return chooseBlock(place, statement, matches);
}

function blockInFocus(place: Place, statement: Statement, reference: string | undefined): Block {
  const { blocks, selected } = place;
  const block = selected === undefined ? undefined : selectedBlock(blocks, selected);
  // A change that does not name a part can only concern figures.
  return block ?? chooseBlock(place, statement, reference === undefined ? blocks.filter(({ kind }) => kind === 'data') : blocks);
}

function chooseBlock({ blocks, asker }: Place, statement: Statement, matches: readonly Block[]): Block {
  if (matches.length === 1) return matches[0] as Block;
  if (matches.length === 0) {
    throw new RefusalError(
      `No part of the page matches "${statement.text}". Its parts are: ${blocks.map((block, index) => `${index + 1}. ${nameOf(block)}`).join('; ')}.`,
    );
  }
  return asker.choose(
    { question: `"${statement.text}": which part of the page do you mean?`, header: 'Part' },
    matches.map((block) => ({ label: `${blocks.indexOf(block) + 1}. ${nameOf(block)}`, value: block })),
  );
}

/** The block that an element of the page belongs to. The page contains the ID of each block. */
function selectedBlock(blocks: readonly Block[], { selector, outer_html: html, label }: SelectedElement): Block | undefined {
  const ids = [...selector.matchAll(/#([\w-]+)/g), ...html.matchAll(/\bid="([\w-]+)"/g)].map(([, id]) => id);
  return blocks.find(({ id }) => ids.includes(id)) ?? blocks.find((block) => nameOf(block) === label);
}

function describes(block: Block, word: string): boolean {
  const kind =
    block.kind === 'text'
      ? ['text', 'note', 'paragraph', 'sentence']
      : formWords(block.form, block.by !== undefined && timeFields.includes(block.by));
  return kind.includes(word) || nameOf(block).toLowerCase().includes(word);
}

function formWords(form: string, overTime: boolean): string[] {
  if (form === 'table') return ['table', 'list'];
  if (form === 'number') return ['number', 'count', 'total'];
  const chart = ['chart', 'graph', 'diagram'];
  return form === 'line' ? [...chart, 'line', 'trend'] : [...chart, 'bar', 'bars', ...(overTime ? ['column', 'columns'] : [])];
}
