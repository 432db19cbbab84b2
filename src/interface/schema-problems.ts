/** Describes why a value does not match a schema, for the service and for commands that check before they send. Pure. */

import { pluralize } from '../base/pluralize.ts';
import { wordList } from '../base/word-list.ts';
import type { ErrorBody } from './types.ts';

export type SchemaProblem = NonNullable<ErrorBody['details']>[number] & { path: string };

interface SchemaError {
  keyword: string;
  instancePath: string;
  message: string;
  params: {
    requiredProperties?: string[];
    type?: string | string[];
    allowedValue?: unknown;
    allowedValues?: unknown[];
    format?: string;
    additionalProperties?: string[];
    limit?: number;
    comparison?: string;
  };
}

/**
 * One line for each field, from the many errors that unions of schemas produce.
 * @param schemaErrors the errors of a TypeBox validator
 */
export function schemaProblems(schemaErrors: readonly unknown[]): SchemaProblem[] {
  const errors = schemaErrors as readonly SchemaError[];
  const types = new Map<string, Set<string>>();
  const values = new Map<string, Set<string>>();
  const otherProblems = new Map<string, string>();
  for (const error of errors) {
    const path = dottedPath(error.instancePath);
    if (error.keyword === 'required')
      for (const name of error.params.requiredProperties ?? []) otherProblems.set(path === '' ? name : `${path}.${name}`, 'is required');
    else if (error.keyword === 'additionalProperties')
      for (const name of error.params.additionalProperties ?? []) otherProblems.set(path === '' ? name : `${path}.${name}`, 'is unknown');
    else if (error.keyword === 'type') for (const type of [error.params.type ?? []].flat()) add(types, path, type);
    else if (error.keyword === 'const') add(values, path, String(error.params.allowedValue));
    else if (error.keyword === 'enum') for (const value of error.params.allowedValues ?? []) add(values, path, String(value));
    else if (error.keyword !== 'anyOf') otherProblems.set(path, describeError(error));
  }
  for (const [path, words] of values) otherProblems.set(path, `must be ${words.size === 1 ? '' : 'one of: '}${[...words].join(', ')}`);
  // If one alternative got as far as the value, type errors of the other alternatives are irrelevant.
  for (const [path, words] of types)
    if (!otherProblems.has(path))
      otherProblems.set(
        path,
        `must be ${wordList(
          [...words].map((type) => typeWords[type] ?? type),
          'or',
        )}`,
      );
  const paths = [...otherProblems.keys()];
  const details = paths
    .filter((path) => !paths.some((other) => other !== path && other.startsWith(path === '' ? '' : `${path}.`)))
    .map((path) => ({ path, message: otherProblems.get(path) as string }));
  return details.length > 0 ? details : [{ path: dottedPath(errors[0]?.instancePath ?? ''), message: 'does not fit' }];
}

const typeWords: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

const formatWords: Record<string, string> = {
  uuid: 'must be a UUID',
  'date-time': 'must be an ISO 8601 date and time with a time zone, such as 2026-07-18T09:30:00Z',
  uri: 'must be an http or https URL',
};

function describeError({ keyword, params, message }: SchemaError): string {
  switch (keyword) {
    case 'format':
      return formatWords[params.format ?? ''] ?? message;
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'minimum':
      return `must be at least ${params.limit}`;
    case 'maximum':
      return `must be at most ${params.limit}`;
    case 'minItems':
      return `must have at least ${pluralize(params.limit ?? 0, 'item')}`;
    case 'maxItems':
      return `must have at most ${pluralize(params.limit ?? 0, 'item')}`;
    default:
      return message;
  }
}

/** `/build/config` as `build.config`. */
const dottedPath = (pointer: string): string =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  const set = map.get(key);
  if (set === undefined) map.set(key, new Set([value]));
  else set.add(value);
}
