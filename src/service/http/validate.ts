/** Checks what an operation is called with against its schemas, and says in words what does not fit. */
import type { TObject, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { type ErrorDetail, ServiceError } from '../errors.ts';

// Compiled when an operation is first called: compiling all at the start would delay it.
const validators = new WeakMap<TSchema, Validator>();

function validator(schema: TSchema): Validator {
  let compiled = validators.get(schema);
  if (compiled === undefined) {
    compiled = Compile(schema) as unknown as Validator;
    validators.set(schema, compiled);
  }
  return compiled;
}

/** Throws 400 `invalid_request` whose details name each field that does not fit. */
export function check(schema: TSchema, value: unknown, what: 'body' | 'query' | 'tool'): void {
  const compiled = validator(schema);
  if (compiled.Check(value)) return;
  if (value === undefined) throw new ServiceError(400, 'invalid_request', 'This operation needs a JSON body.');
  const details = problems(compiled.Errors(value) as SchemaError[]);
  const message = details.map((detail) => `${detail.path || `The ${what}`} ${detail.message}`).join('; ');
  throw new ServiceError(400, 'invalid_request', `${message}.`, { details });
}

/** The query as its schema wants it: numbers where it has numbers, defaults where it has defaults. */
export function readQuery(schema: TObject | undefined, search: URLSearchParams): unknown {
  if (schema === undefined) return undefined;
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties) as [string, { type?: string; default?: unknown }][]) {
    const given = search.getAll(name);
    if (given.length > 1) {
      throw new ServiceError(400, 'invalid_request', `${name} is given more than once.`, {
        details: [{ path: name, message: 'is given more than once' }],
      });
    }
    const text = given[0];
    if (text !== undefined) values[name] = property.type === 'integer' || property.type === 'number' ? numberOrText(text) : text;
    else if (property.default !== undefined) values[name] = property.default;
  }
  check(schema, values, 'query');
  return values;
}

/** A number that JavaScript and the database can hold exactly; the schema refuses what stays a text. */
const numberOrText = (text: string): number | string =>
  /^-?\d+(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER ? Number(text) : text;

interface SchemaError {
  keyword: string;
  instancePath: string;
  message: string;
  params: {
    requiredProperties?: string[];
    type?: string | string[];
    allowedValue?: unknown;
    format?: string;
    additionalProperties?: string[];
    limit?: number;
    comparison?: string;
  };
}

/** One line for each field, from the many that unions of schemas yield. */
function problems(errors: SchemaError[]): ErrorDetail[] {
  const types = new Map<string, Set<string>>();
  const values = new Map<string, Set<string>>();
  const others = new Map<string, string>();
  for (const error of errors) {
    const path = dotted(error.instancePath);
    if (error.keyword === 'required')
      for (const name of error.params.requiredProperties ?? []) others.set(path === '' ? name : `${path}.${name}`, 'is required');
    else if (error.keyword === 'additionalProperties')
      for (const name of error.params.additionalProperties ?? []) others.set(path === '' ? name : `${path}.${name}`, 'is not known');
    else if (error.keyword === 'type') for (const type of [error.params.type ?? []].flat()) add(types, path, type);
    else if (error.keyword === 'const') add(values, path, String(error.params.allowedValue));
    else if (error.keyword !== 'anyOf') others.set(path, inWords(error));
  }
  for (const [path, words] of values) others.set(path, `must be ${words.size === 1 ? '' : 'one of: '}${[...words].join(', ')}`);
  // Where an alternative came as far as a value, that it was of a wrong type for the others says nothing.
  for (const [path, words] of types)
    if (!others.has(path)) others.set(path, `must be ${[...words].map((type) => typeWords[type] ?? type).join(' or ')}`);
  const paths = [...others.keys()];
  const details = paths
    .filter((path) => !paths.some((other) => other !== path && other.startsWith(path === '' ? '' : `${path}.`)))
    .map((path) => ({ path, message: others.get(path) as string }));
  return details.length > 0 ? details : [{ path: dotted(errors[0]?.instancePath ?? ''), message: 'does not fit' }];
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
  url: 'must be a URL',
};

function inWords({ keyword, params, message }: SchemaError): string {
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
      return `must have at least ${params.limit} items`;
    case 'maxItems':
      return `must have at most ${params.limit} items`;
    default:
      return message;
  }
}

/** `/build/config` as `build.config`. */
const dotted = (pointer: string): string =>
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
