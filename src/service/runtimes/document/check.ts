/** Checks YAML documents of other kinds than those that runtimes execute, such as the test files of agents. */
import type { TSchema } from 'typebox';
import { type Finding, structureCheck } from './findings.ts';
import type { Problem } from './problems.ts';
import { type Path, readSource } from './source.ts';

export type { Finding } from './findings.ts';
export type { Problem } from './problems.ts';

/** A document that was checked. */
export interface CheckedDocument {
  /** Fits the schema if there are no problems. */
  value: unknown;
  /** In the order of the text. */
  problems: Problem[];
  /** The line of a value, counted from 1. */
  lineOf(path: Path): number;
}

/**
 * Returns a function that parses a document and finds everything that is wrong with it.
 * @param label how messages refer to the document, such as "the test file"
 * @param rules what the schema cannot express, for a value that fits the schema
 */
export function documentCheck<Value>(
  schema: TSchema,
  label: string,
  rules: (value: Value) => readonly Finding[],
): (text: string) => CheckedDocument {
  const findProblems = structureCheck({ schema, label });
  return (text) => {
    const source = readSource(text);
    const problems = [...source.problems];
    if (problems.length === 0) {
      const findings = findProblems(source.value);
      if (findings.length === 0) findings.push(...rules(source.value as Value));
      for (const { message, path, onKey } of findings) {
        const { line, column } = onKey ? source.keyAt(path) : source.locate(path);
        problems.push({ message, line, column });
      }
    }
    problems.sort((a, b) => a.line - b.line || a.column - b.column);
    return { value: source.value, problems, lineOf: (path) => source.locate(path).line };
  };
}
