/** A YAML document that a runtime executes: its value, and the position of each part in the text. */

import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
  YAMLParseError,
} from 'yaml';
import { firstLine } from '../../../base/values.ts';
import type { Position, Problem } from './problems.ts';

export type Path = readonly (string | number)[];

/** A value of a document. */
export interface ValueLocation extends Position {
  /** Set for texts that begin on the line below (`|` and `>`). */
  block: boolean;
  /** Set for texts whose lines are lines of the document (`|`). */
  literal: boolean;
}

export interface Source {
  value: unknown;
  problems: Problem[];
  /** The position of a value; if it does not exist, of the nearest part around it. */
  locate(path: Path): ValueLocation;
  /** The position of the key of a value. */
  keyAt(path: Path): Position;
}

/** Parses YAML 1.2. Syntax errors become problems and are never thrown. */
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
  if (problems.length === 0) problems.push(...findMisreadings(document).map(({ message, offset }) => ({ message, ...position(offset) })));
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
    locate(path) {
      const location = find(path);
      const type = isScalar(location.node) ? location.node.type : undefined;
      const literal = type === Scalar.BLOCK_LITERAL;
      return { ...position(location.value), block: literal || type === Scalar.BLOCK_FOLDED, literal };
    },
    keyAt: (path) => position(find(path).key),
  };
}

/** The parser is recursive: thousands of nested brackets overflow its stack, which it throws or reports among its errors. */
function parse(text: string, lineCounter: LineCounter): Document {
  let range: [number, number] = [0, 0];
  try {
    const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
    const overflow = document.errors.find(({ message }) => message.includes('call stack'));
    if (overflow === undefined) return document;
    range = overflow.pos;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const document = parseDocument('');
  document.errors.push(new YAMLParseError(range, 'BAD_COLLECTION_TYPE', 'it is nested too deeply'));
  return document;
}

interface Misreading {
  message: string;
  offset: number;
}

/** Problems of valid YAML that is not what the author meant, or that has no value. */
function findMisreadings(document: Document): Misreading[] {
  const misreadings: Misreading[] = [];
  const anchors = new Map<string, unknown>();
  visit(document, (_, node, path) => {
    if (isAlias(node)) misreadings.push(...misreadAlias(node, anchors.get(node.source), path));
    else if (isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isMap(node)) misreadings.push(...misreadKeys(node));
  });
  return misreadings;
}

function misreadAlias(alias: Alias, target: unknown, path: readonly unknown[]): Misreading[] {
  const offset = startOf(alias) ?? 0;
  if (target === undefined) return [{ message: `there is no anchor \`&${alias.source}\` before this alias`, offset }];
  return path.includes(target) ? [{ message: `the alias \`*${alias.source}\` is inside the value that it refers to`, offset }] : [];
}

/** The library would compare every key with every other one. */
function misreadKeys({ items }: YAMLMap): Misreading[] {
  const seenKeys = new Set<unknown>();
  return items.flatMap(({ key }) => {
    const offset = startOf(key) ?? 0;
    // {{ message }} without quotes is a mapping whose key is a mapping.
    if (isMap(key) && key.flow)
      return [{ message: 'a `{` at the beginning of a value is a mapping to YAML; put the template in quotes: "{{ … }}"', offset }];
    if (isCollection(key)) return [{ message: 'a key is a text, not a list or a mapping', offset }];
    if (!isScalar(key)) return [];
    const isRepeated = seenKeys.has(key.value);
    seenKeys.add(key.value);
    return isRepeated ? [{ message: `the key \`${String(key.value)}\` appears twice`, offset }] : [];
  });
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
