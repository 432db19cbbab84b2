/** Checks a value of a document against its schema, and describes the problems in words. */

import type { TSchema } from 'typebox';
import { wordList } from '../../../base/word-list.ts';
import { Compile } from '../../../interface/validator.ts';
import { durationPattern, idPattern } from './patterns.ts';
import { suggestion } from './problems.ts';
import type { Path } from './source.ts';

/** A problem with a value, or with its key (`onKey`). */
export interface Finding {
  message: string;
  /** Relative to the value that was checked. */
  path: Path;
  onKey?: boolean;
}

type Failure = { keyword: string; instancePath: string; schemaPath: string; params: Record<string, unknown> };

/** A kind of value, such as the payload of a step. */
interface Kind {
  schema: TSchema;
  /** How messages refer to the value, such as "`ask`". */
  label: string;
}

/** Returns a function that finds all problems with the structure of a value. */
export function structureCheck(kind: Kind): (value: unknown) => Finding[] {
  const validator = Compile(kind.schema);
  return (value) => (validator.Check(value) ? [] : findingsOf(kind, value, [...validator.Errors(value)] as unknown as Failure[]));
}

function findingsOf(kind: Kind, root: unknown, failures: readonly Failure[]): Finding[] {
  const choicesAt = new Set<string>();
  const findings: Finding[] = [];
  for (const failure of failures) {
    const instancePath = failure.instancePath;
    const path = pathOf(instancePath);
    const value = valueAt(root, path);
    const name = nameOf(kind, path);
    if (!isOfChoice(failure)) findings.push(...describeFailure(kind, failure, { path, value, name }));
    // A mapping or list, where one of the choices is one, is judged by that choice.
    else if (
      !choicesAt.has(instancePath) &&
      !(isContainer(value) && failures.some((other) => other.instancePath.startsWith(instancePath) && !isOfChoice(other)))
    ) {
      choicesAt.add(instancePath);
      findings.push({ message: `${name} must be ${choices(failures, instancePath)}`, path });
    }
  }
  // The validator stops after many findings, before it names the unknown keys.
  const unknown = failures.find(({ keyword }) => keyword === 'boolean');
  if (findings.length === 0 && unknown !== undefined) {
    const path = pathOf(unknown.instancePath);
    findings.push({ message: `there are many unknown keys, such as ${nameOf(kind, path)}`, path, onKey: true });
  }
  return findings;
}

/** Whether a failure only concerns one of several choices. */
const isOfChoice = ({ keyword, schemaPath }: Failure): boolean =>
  keyword === 'anyOf' || (['const', 'type'].includes(keyword) && /\/anyOf\/\d+$/.test(schemaPath));

function describeFailure(kind: Kind, failure: Failure, position: { path: Path; value: unknown; name: string }): Finding[] {
  const { path, name } = position;
  switch (failure.keyword) {
    case 'required':
      return (failure.params.requiredProperties as string[]).map((key) => ({ message: `${name} needs \`${key}\``, path, onKey: true }));
    case 'additionalProperties': {
      const allowedNames = Object.keys((schemaAt(kind, failure.schemaPath).properties ?? {}) as object);
      return (failure.params.additionalProperties as string[]).map((key) => ({
        message: `unknown key \`${key}\` in ${name}; ${suggestion(key, allowedNames)}`,
        path: [...path, key],
        onKey: true,
      }));
    }
    case 'type':
      // A number in place of a duration lacks its unit, so quotes would not help.
      if (typeof position.value === 'number' && position.value !== 0 && schemaAt(kind, failure.schemaPath).pattern === durationPattern)
        return [{ message: `${name} ${patternMessage(durationPattern, position.value)}`, path }];
      return [
        {
          message: `${name} must be ${typeNames[String(failure.params.type)] ?? failure.params.type}, not ${kindOf(position.value)}${hint(failure, position.value)}`,
          path,
        },
      ];
    case 'pattern':
      return [{ message: `${name} ${patternMessage(String(failure.params.pattern), position.value)}`, path }];
    case 'minLength':
    case 'minItems':
      return [{ message: `${name} is empty`, path }];
    case 'maxItems':
      return [{ message: `${name} has more than ${failure.params.limit} entries`, path }];
    case 'minimum':
      return [{ message: `${name} must be ${failure.params.limit} or more`, path }];
    case 'maximum':
      return [{ message: `${name} must be ${failure.params.limit} or less`, path }];
    default:
      // `boolean`, `const`, and `anyOf` repeat another failure of the same value.
      return [];
  }
}

function patternMessage(pattern: string, value: unknown): string {
  if (pattern === durationPattern) return `is \`${String(value)}\`, which is not a duration; write 300ms, 2s, 1m30s, or 2h`;
  if (pattern === idPattern)
    return `is \`${String(value)}\`; an ID starts with a letter, followed by letters, digits, and _ (at most 64 characters)`;
  return 'does not have the required form';
}

const typeNames: Record<string, string> = {
  string: 'a text',
  object: 'a mapping',
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
};

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a mapping' : typeof value === 'string' ? 'a text' : `the ${typeof value} ${String(value)}`;
}

const hint = (failure: Failure, value: unknown): string =>
  failure.params.type === 'string' && ['number', 'boolean'].includes(typeof value) ? '; put it in quotes' : '';

function choices(failures: readonly Failure[], instancePath: string): string {
  const matches = failures.filter((failure) => failure.instancePath === instancePath);
  const words = matches.filter(({ keyword }) => keyword === 'const').map(({ params }) => `\`${String(params.allowedValue)}\``);
  const types = matches.filter(({ keyword }) => keyword === 'type').map(({ params }) => typeNames[String(params.type)] ?? '');
  // Each `const` also fails by its type.
  return wordList([...words, ...types.filter((type) => words.length === 0 || type !== typeNames.string)], 'or');
}

/** "`ask`" for the value itself, "`question` of `ask`" below it. */
function nameOf(kind: Kind, path: Path): string {
  const key = path.findLast((part) => typeof part === 'string');
  if (key === undefined) return kind.label;
  const entry = typeof path.at(-1) === 'number' ? `entry ${Number(path.at(-1)) + 1} of ` : '';
  return `${entry}\`${key}\` of ${kind.label}`;
}

function pathOf(pointer: string): Path {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (container, part) =>
      container === null || container === undefined ? undefined : (container as Record<string | number, unknown>)[part],
    value,
  );
}

function schemaAt(kind: Kind, pointer: string): Record<string, unknown> {
  const parts = pointer
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '');
  return (valueAt(kind.schema, parts) ?? {}) as Record<string, unknown>;
}

const isContainer = (value: unknown): boolean => value !== null && typeof value === 'object';
