/** A procedure's YAML: its value, and where in the text each part of it stands. */

import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, Scalar, YAMLParseError } from 'yaml';
import { firstLine } from '../../../base/values.ts';
import type { Position, Problem } from './problems.ts';

export type Path = readonly (string | number)[];

/** A value of a document. `block` is set for texts that begin on the line below (`|` and `>`). */
export interface Located extends Position {
  block: boolean;
}

export interface Source {
  value: unknown;
  problems: Problem[];
  /** Where a value stands; the nearest part around it when it is not there. */
  at(path: Path): Located;
  /** Where the key of a value stands. */
  keyAt(path: Path): Position;
}

/** Reads YAML 1.2. Syntax errors are problems, never thrown. */
export function readSource(text: string): Source {
  const lines = new LineCounter();
  const document = parse(text, lines);
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problems: Problem[] = document.errors.map((error) => ({
    message: `this is not valid YAML: ${firstLine(error.message)}`,
    ...position(error.pos[0]),
  }));
  let value: unknown;
  try {
    if (problems.length === 0) value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    problems.push({
      message: `this is not valid YAML: ${error instanceof Error ? firstLine(error.message) : 'it cannot be read'}`,
      line: 1,
      column: 1,
    });
  }
  const find = (path: Path): { key: number; value: number; node: unknown } => findNode(document, path);
  return {
    value,
    problems,
    at(path) {
      const found = find(path);
      const block = isScalar(found.node) && (found.node.type === Scalar.BLOCK_LITERAL || found.node.type === Scalar.BLOCK_FOLDED);
      return { ...position(found.value), block };
    },
    keyAt: (path) => position(find(path).key),
  };
}

function parse(text: string, lineCounter: LineCounter): Document {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false });
  } catch (error) {
    // The parser is recursive: it runs out of stack on thousands of nested brackets.
    if (!(error instanceof RangeError)) throw error;
    const document = parseDocument('');
    document.errors.push(new YAMLParseError([0, 0], 'BAD_COLLECTION_TYPE', 'it is nested too deeply'));
    return document;
  }
}

/** Offsets of the key and the value at a path. */
function findNode(document: Document, path: Path): { key: number; value: number; node: unknown } {
  let node: unknown = document.contents;
  let key = startOf(node) ?? 0;
  let value = key;
  for (const part of path) {
    const parent: unknown = isAlias(node) ? node.resolve(document) : node;
    if (isMap(parent)) {
      const pair = parent.items.find((item) => String(isScalar(item.key) ? item.key.value : item.key) === String(part));
      if (!pair) break;
      key = startOf(pair.key) ?? value;
      node = pair.value;
      value = startOf(node) ?? key;
    } else if (isSeq(parent)) {
      node = parent.items[Number(part)];
      value = startOf(node) ?? value;
      key = value;
    } else break;
  }
  return { key, value, node };
}

const startOf = (node: unknown): number | undefined => (node as Node | null | undefined)?.range?.[0];
