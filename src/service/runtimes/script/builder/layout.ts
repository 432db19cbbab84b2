/**
 * The positions of the steps in the text of a procedure. An untouched step keeps its lines and the comments above it; the YAML library
 * writes only steps that are changed or new.
 */
import { Document, isMap, isScalar, type Node, type YAMLMap, YAMLSeq } from 'yaml';

/** The lines of a step: comments and blank lines above it, then the step itself. */
export interface Lines {
  lead: string;
  body: string;
}

/** A text split at its steps. */
export interface Layout {
  /** Up to and including the line of `steps:`. */
  head: string;
  steps: Lines[];
  /** After the last step. */
  tail: string;
  /** In front of each dash. */
  indent: string;
  lineBreak: '\n' | '\r\n';
  /** Whether blank lines separate the steps. */
  hasBlankLines: boolean;
}

const writeOptions = { lineWidth: 0 } as const;

/** The layout of a procedure; undefined when its steps are not a list in which each begins with a dash on a new line. */
export function layoutOf(text: string, document: Document): Layout | undefined {
  const pair = isMap(document.contents) ? document.contents.items.find(({ key }) => isScalar(key) && key.value === 'steps') : undefined;
  const list = pair?.value;
  if (!(list instanceof YAMLSeq) || list.flow === true || list.anchor !== undefined || list.items.length === 0) return undefined;
  const keyEnd = (pair?.key as Node | undefined)?.range?.[1];
  if (keyEnd === undefined) return undefined;
  const first = afterLine(text, keyEnd);
  const steps: Lines[] = [];
  let indent: string | undefined;
  let from = first;
  for (const item of list.items) {
    const range = (item as Node).range;
    if (!range) return undefined;
    const start = text.lastIndexOf('\n', range[0] - 1) + 1;
    const dash = /^( *)- +$/.exec(text.slice(start, range[0]))?.[1];
    if (dash === undefined || start < from || (indent ?? dash) !== dash) return undefined;
    indent = dash;
    const end = text[range[1] - 1] === '\n' ? range[1] : afterLine(text, range[1]);
    steps.push({ lead: text.slice(from, start), body: text.slice(start, end) });
    from = end;
  }
  const blankCount = steps.slice(1).filter(({ lead }) => isBlankFirst(lead)).length;
  return {
    head: text.slice(0, first),
    steps,
    tail: text.slice(from),
    indent: indent ?? '',
    lineBreak: text.includes('\r\n') ? '\r\n' : '\n',
    hasBlankLines: blankCount > 0 && blankCount * 2 >= steps.length - 1,
  };
}

/**
 * Writes a step with the indentation and the line breaks of the layout.
 * @param before its original lines: if their lists have no space inside brackets, neither does the result; texts can lose such spaces too
 */
export function writeStep(step: Node, layout: Layout, before: string): string {
  const list = new YAMLSeq();
  const document = new Document();
  // The lines above the step are preserved as text.
  const { commentBefore, spaceBefore } = step as YAMLMap;
  Object.assign(step, { commentBefore: undefined, spaceBefore: false });
  try {
    list.items = [step];
    document.contents = list as never;
    const output = document.toString(writeOptions).replace(/\n+$/, '\n');
    const text = /\[\S/.test(before) && !/\[ /.test(before) ? output.replaceAll('[ ', '[').replaceAll(' ]', ']') : output;
    return text.replace(/^(?=.)/gm, layout.indent).replaceAll('\n', layout.lineBreak);
  } finally {
    Object.assign(step, { commentBefore, spaceBefore });
  }
}

/** The whole text. @param steps in their new order; `index` is the original position of a step, undefined for a new one */
export function joinSteps(layout: Layout, head: string, steps: readonly { lines: Lines; index: number | undefined }[]): string {
  let text = withBreak(head, layout);
  let previous = -1;
  for (const [position, { lines, index }] of steps.entries()) {
    // A step that follows a removed one keeps its distance.
    const inOrder = index !== undefined && index > previous;
    let { lead } = lines;
    if (position === 0 && index !== 0) lead = lead.replace(/^(?:[ \t]*\r?\n)+/, '');
    else if (!inOrder && layout.hasBlankLines && !isBlankFirst(lead)) lead = layout.lineBreak + lead;
    text += lead + withBreak(lines.body, layout);
    previous = index ?? Number.NaN;
  }
  return text + layout.tail;
}

const isBlankFirst = (lead: string): boolean => /^[ \t]*\r?\n/.test(lead);
const withBreak = (text: string, { lineBreak }: Layout): string => (text === '' || text.endsWith('\n') ? text : text + lineBreak);

function afterLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end < 0 ? text.length : end + 1;
}

/** The whole document as the library writes it, for texts without a layout. */
export const writeDocument = (document: Document): string => document.toString(writeOptions);
