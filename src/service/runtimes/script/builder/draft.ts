/** A procedure that is being edited: its steps in order, each with its original number, and the resulting text. */

import { type Document, isMap, isScalar, isSeq, type Node, parseDocument, visit, YAMLMap, YAMLSeq } from 'yaml';
import { firstLine } from '../../../../base/values.ts';
import { RefusalError } from '../../../words/outcome.ts';
import type { Path } from '../../document/source.ts';
import { conditionKey, type StepKind, stepKinds } from '../schema.ts';
import { joinSteps, type Layout, layoutOf, writeDocument, writeStep } from './layout.ts';

/** A step of the draft. */
export interface DraftStep {
  readonly node: YAMLMap;
  /** Its number in the original procedure, counted from 1; undefined for a new step. */
  readonly number: number | undefined;
  isChanged: boolean;
}

const emptyProcedure = 'version: 1\nsteps: []\n';

export class Draft {
  steps: DraftStep[];
  /** The step that was edited last, which "it" refers to. */
  last: DraftStep | undefined;
  readonly #text: string;
  readonly #document: Document;
  readonly #layout: Layout | undefined;
  #description: string | undefined;

  /** @param text the procedure, or null to start with an empty one. @throws RefusalError when it is not YAML with a list of steps */
  constructor(text: string | null) {
    this.#text = text ?? emptyProcedure;
    this.#document = parseDocument(this.#text);
    const [problem] = this.#document.errors;
    if (problem) throw new RefusalError(`The procedure is not valid YAML: ${firstLine(problem.message)}`);
    const nodes = this.#list().items;
    if (!nodes.every((node) => isMap(node))) throw new RefusalError('A step of the procedure is not a mapping.');
    this.steps = nodes.map((node, index) => ({ node: node as YAMLMap, number: index + 1, isChanged: false }));
    this.#layout = text === null ? undefined : layoutOf(this.#text, this.#document);
  }

  /** What a step does; undefined for a kind that this version does not know. */
  kindOf(step: DraftStep): StepKind | undefined {
    return stepKinds.find((kind) => step.node.has(kind));
  }

  /** The value under the kind of a step, as plain data. */
  payloadOf(step: DraftStep): unknown {
    const kind = this.kindOf(step);
    const value: unknown = kind === undefined ? undefined : step.node.get(kind, true);
    return value === undefined || value === null ? value : (value as Node).toJS(this.#document);
  }

  idOf(step: DraftStep): string | undefined {
    const payload = this.payloadOf(step);
    const id = payload !== null && typeof payload === 'object' ? (payload as { id?: unknown }).id : undefined;
    return typeof id === 'string' ? id : undefined;
  }

  ids(): string[] {
    return this.steps.flatMap((step) => this.idOf(step) ?? []);
  }

  /** Every text among the values of a step. */
  textsOf(step: DraftStep): string[] {
    const texts: string[] = [];
    visit(step.node, { Scalar: (key, node) => void (key !== 'key' && typeof node.value === 'string' && texts.push(node.value)) });
    return texts;
  }

  /** Inserts a step from plain data or YAML. Mappings are written on one line if most other steps are. */
  insert(index: number, step: Record<string, unknown> | YAMLMap): DraftStep {
    const node = step instanceof YAMLMap ? step : (this.#document.createNode(step) as YAMLMap);
    if (!(step instanceof YAMLMap) && this.#writesFlow()) {
      for (const { value } of node.items) if (isMap(value) && JSON.stringify(value).length <= 100) value.flow = true;
    }
    // Options are short, so each fits on a line.
    visit(node, {
      Pair: (_, { key, value }) => void (isScalar(key) && key.value === 'options' && isSeq(value) && value.items.forEach(onOneLine)),
    });
    const newStep: DraftStep = { node, number: undefined, isChanged: true };
    this.steps.splice(index, 0, newStep);
    this.last = newStep;
    return newStep;
  }

  remove(step: DraftStep): void {
    this.steps = this.steps.filter((other) => other !== step);
  }

  /** Sets a value of a step; the path begins below the step: `['exec', 'timeout']`. An existing text keeps its style. */
  set(step: DraftStep, path: Path, value: unknown): void {
    atPath(path, () => step.node.setIn(path, typeof value === 'object' && value !== null ? this.#document.createNode(value) : value));
    this.touch(step);
  }

  /** Sets the condition of a step, in front of everything else. */
  setCondition(step: DraftStep, condition: string): void {
    if (step.node.has(conditionKey)) step.node.set(conditionKey, condition);
    else step.node.items.unshift(this.#document.createPair(conditionKey, condition));
    this.touch(step);
  }

  unset(step: DraftStep, path: Path): boolean {
    const wasThere = atPath(path, () => step.node.deleteIn(path));
    if (wasThere) this.touch(step);
    return wasThere;
  }

  /** Replaces what a step does. It keeps its position and the comments above it. */
  replace(step: DraftStep, replacement: YAMLMap): void {
    step.node.items = replacement.items;
    step.node.flow = replacement.flow ?? false;
    this.touch(step);
  }

  touch(step: DraftStep): void {
    step.isChanged = true;
    this.last = step;
  }

  /** Changes the texts of some steps (by default all) and, if requested, the description. Returns the number of changes. */
  rewrite(change: (text: string) => string, steps: readonly DraftStep[] = this.steps, withDescription = false): number {
    let count = 0;
    for (const step of steps) {
      visit(step.node, {
        Scalar: (key, node) => {
          const next = key === 'key' || typeof node.value !== 'string' ? node.value : change(node.value);
          if (next === node.value) return;
          node.value = next;
          count += 1;
          this.touch(step);
        },
      });
    }
    const description = withDescription ? this.description : undefined;
    if (description !== undefined && change(description) !== description) {
      this.description = change(description);
      count += 1;
    }
    return count;
  }

  get description(): string | undefined {
    const value = this.#document.get('description');
    return typeof value === 'string' ? value : undefined;
  }

  set description(text: string) {
    this.#description = text;
    const contents = this.#document.contents as YAMLMap;
    if (contents.has('description')) contents.set('description', text);
    else contents.items.splice(contents.has('version') ? 1 : 0, 0, this.#document.createPair('description', text));
  }

  /** The edited procedure. */
  toText(): string {
    const list = this.#list();
    list.items = this.steps.map(({ node }) => node);
    if (list.items.length > 0) list.flow = this.#layout === undefined && this.#text !== emptyProcedure ? (list.flow ?? false) : false;
    const splicedText = this.#splice();
    if (splicedText !== undefined) return splicedText;
    try {
      return writeDocument(this.#document);
    } catch (error) {
      // An alias whose anchor was removed.
      throw new RefusalError(`The changed procedure cannot be written as YAML: ${(error as Error).message}.`);
    }
  }

  /** The original text in which only the changed steps are rewritten, provided that it has the same content as the document. */
  #splice(tidy = true): string | undefined {
    const layout = this.#layout;
    const head = layout && this.#head(layout);
    if (layout === undefined || head === undefined) return undefined;
    try {
      const steps = this.steps.map(({ node, number, isChanged }) => {
        const index = number === undefined ? undefined : number - 1;
        const lines = index === undefined ? { lead: '', body: '' } : (layout.steps[index] as Layout['steps'][number]);
        return { index, lines: isChanged ? { lead: lines.lead, body: writeStep(node, layout, tidy ? lines.body : '') } : lines };
      });
      const text = joinSteps(layout, head, steps);
      const isSame = JSON.stringify(parseDocument(text).toJS()) === JSON.stringify(this.#document.toJS());
      if (isSame || !tidy) return isSame ? text : undefined;
    } catch {
      // A step that refers to an anchor elsewhere cannot be written alone.
      return undefined;
    }
    return this.#splice(false);
  }

  /** The text before the steps, with the new description if it was changed. */
  #head({ head, lineBreak }: Layout): string | undefined {
    if (this.#description === undefined) return head;
    const before = parseDocument(head);
    const descriptionLine = `description: ${JSON.stringify(this.#description)}`;
    const pair = isMap(before.contents) ? before.contents.items.find(({ key }) => isScalar(key) && key.value === 'description') : undefined;
    const [from, to] = [(pair?.key as Node | undefined)?.range?.[0], (pair?.value as Node | undefined)?.range?.[1]];
    if (from !== undefined && to !== undefined) {
      return head.slice(0, from) + descriptionLine + (head[to - 1] === '\n' ? lineBreak : '') + head.slice(to);
    }
    const line = head.lastIndexOf('\n', head.length - 2) + 1;
    return `${head.slice(0, line)}${descriptionLine}${lineBreak}${head.slice(line)}`;
  }

  #list(): YAMLSeq {
    const list = this.#document.get('steps');
    if (isSeq(list)) return list;
    if (list !== undefined && list !== null) throw new RefusalError('The `steps` of the procedure are not a list.');
    const empty = new YAMLSeq();
    this.#document.set('steps', empty);
    return empty;
  }

  #writesFlow(): boolean {
    const payloads = this.steps
      .flatMap(({ node, number }) => (number === undefined ? [] : node.items.map(({ value }) => value)))
      .filter(isMap);
    return payloads.length > 0 && payloads.filter(({ flow }) => flow === true).length * 2 > payloads.length;
  }
}

/** @throws RefusalError when the YAML library cannot reach the path, such as one through a text */
function atPath<Result>(path: Path, change: () => Result): Result {
  try {
    return change();
  } catch {
    throw new RefusalError(`The step is written in such a way that \`${path.join('.')}\` cannot be changed.`);
  }
}

function onOneLine(node: unknown): void {
  if (isMap(node)) node.flow = true;
}
