/**
 * Changes what a page shows as a request in plain words describes. Deterministic: the same request, answers, and names always give the
 * same page. A request is carried out as a whole or not at all. This is the offline fallback for a model, which would take a `Request`
 * and return a `Composed` in its place. No new phrases are added to it.
 */
import type { SelectedElement } from '../../../interface/types.ts';
import { Asker } from '../../words/asking.ts';
import { limitParts, type Outcome, RefusalError, unfinishedOutcome } from '../../words/outcome.ts';
import { type Block, type DataBlock, maxBlocks, type PageSpec } from '../page.ts';
import { titleOf } from '../subjects.ts';
import { blockFrom, type TeamNames } from './blocks.ts';
import { type Command, readCommands, readStatements } from './commands.ts';
import { nothingRequested } from './help.ts';
import { nameOf, type Place, resolveReference } from './references.ts';

export interface Request {
  message: string;
  page: PageSpec;
  /** The answers by question text. */
  answers: Readonly<Record<string, string>>;
  selected: SelectedElement | undefined;
  names: TeamNames;
}

export type Composition = Outcome<{ status: 'composed'; page: PageSpec; changes: string[] }>;

const maxStatements = 60;

/** The maximum length of a title in characters (updateArtifact in the contract). */
const maxTitleLength = 120;

export function compose(request: Request): Composition {
  try {
    const statements = readStatements(request.message);
    if (statements.length === 0) throw nothingRequested();
    limitParts('message', statements, maxStatements);
    const commands = statements.flatMap(readCommands);
    const work = new Work(request);
    for (const command of commands) work.carryOut(command);
    return { status: 'composed', page: work.page(), changes: work.changes };
  } catch (error) {
    return unfinishedOutcome(error);
  }
}

class Work {
  readonly changes: string[] = [];
  readonly #request: Request;
  readonly #asker: Asker;
  #blocks: Block[];
  #title: string;
  #hasOwnTitle: boolean;
  #nextNumber: number;

  constructor(request: Request) {
    const { title, titled, blocks, next } = request.page;
    this.#request = request;
    this.#asker = new Asker(request.answers);
    this.#blocks = [...blocks];
    this.#title = title;
    this.#hasOwnTitle = titled;
    this.#nextNumber = next;
  }

  page(): PageSpec {
    const first = this.#blocks.find((block): block is DataBlock => block.kind === 'data');
    const title = this.#hasOwnTitle || first === undefined ? this.#title : titleOf(first).slice(0, maxTitleLength);
    return { title, titled: this.#hasOwnTitle, blocks: this.#blocks, next: this.#nextNumber };
  }

  carryOut(command: Command): void {
    switch (command.do) {
      case 'title':
        this.#setTitle(command.title);
        return;
      case 'text':
        this.#add({ kind: 'text', text: command.text });
        return;
      case 'clear':
        this.#blocks = [];
        this.changes.push('Removed everything.');
        return;
      case 'add':
        this.#add({ kind: 'data', ...blockFrom(command.blockRequest, undefined, { ...this.#tools(), statement: command.statement }) });
        return;
      case 'change': {
        const old = resolveReference(this.#place(), command.statement, command.reference);
        if (old.kind === 'text')
          throw new RefusalError(`"${command.statement.text}" refers to a text, which has no figures to show in another form.`);
        const tools = { ...this.#tools(), statement: command.statement };
        const newBlock: DataBlock = { id: old.id, kind: 'data', ...blockFrom(command.blockRequest, old, tools) };
        this.#blocks = this.#blocks.map((block) => (block === old ? newBlock : block));
        const hasSameTitle = titleOf(old) === titleOf(newBlock);
        this.changes.push(`Changed "${titleOf(old)}" to ${hasSameTitle ? formNames[newBlock.form] : describeBlock(newBlock)}.`);
        return;
      }
      case 'remove': {
        const old = resolveReference(this.#place(), command.statement, command.reference);
        this.#blocks = this.#blocks.filter((block) => block !== old);
        this.changes.push(`Removed ${phraseFor(old)}.`);
        return;
      }
      case 'move':
        this.#move(resolveReference(this.#place(), command.statement, command.reference), command.to);
    }
  }

  #setTitle(title: string): void {
    if (title === '' || [...title].length > maxTitleLength) throw new RefusalError(`A title must have 1 to ${maxTitleLength} characters.`);
    this.#title = title;
    this.#hasOwnTitle = true;
    this.changes.push(`The title is "${title}".`);
  }

  #add(block: Omit<DataBlock, 'id'> | { kind: 'text'; text: string }): void {
    if (this.#blocks.length >= maxBlocks) throw new RefusalError(`A page can have at most ${maxBlocks} parts. Remove some first.`);
    const newBlock = { id: `part-${this.#nextNumber}`, ...block } as Block;
    this.#nextNumber += 1;
    this.#blocks.push(newBlock);
    this.changes.push(`Added ${newBlock.kind === 'data' ? describeBlock(newBlock) : phraseFor(newBlock)}.`);
  }

  #move(block: Block, to: 'up' | 'down' | 'first' | 'last'): void {
    const from = this.#blocks.indexOf(block);
    const blocks = this.#blocks.filter((other) => other !== block);
    const index = { up: Math.max(0, from - 1), down: from + 1, first: 0, last: blocks.length }[to];
    blocks.splice(index, 0, block);
    this.#blocks = blocks;
    this.changes.push(`Moved ${phraseFor(block)}.`);
  }

  #place(): Place {
    return { blocks: this.#blocks, selected: this.#request.selected, asker: this.#asker };
  }

  #tools() {
    return { asker: this.#asker, names: this.#request.names };
  }
}

const quote = (name: string): string => (name.includes('"') ? name : `"${name}"`);

/** A part as it appears within a sentence: `the text "Dear all"`. */
const phraseFor = (block: Block): string => {
  const name = nameOf(block);
  return block.kind === 'text' ? `the ${name.charAt(0).toLowerCase()}${name.slice(1)}` : quote(name);
};

const formNames = { table: 'a table', bars: 'a bar chart', line: 'a line chart', number: 'a number' } as const;

/** `"Runs by status" as a bar chart` */
const describeBlock = (block: DataBlock): string =>
  `"${titleOf(block)}"${block.query.subject === 'usage' ? '' : ` as ${formNames[block.form]}`}`;
