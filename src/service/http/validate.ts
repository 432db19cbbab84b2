/** Validates the input of operations against their schemas, and describes the problems in words. */
import type { TObject, TSchema } from 'typebox';
import { schemaProblems } from '../../interface/schema-problems.ts';
import { Compile, type Validator } from '../../interface/validator.ts';
import { ServiceError } from '../errors.ts';

// Compiled when an operation is first called: compiling all schemas would delay the start.
const validators = new WeakMap<TSchema, Validator>();

function validator(schema: TSchema): Validator {
  let compiledSchema = validators.get(schema);
  if (compiledSchema === undefined) {
    compiledSchema = Compile(schema) as unknown as Validator;
    validators.set(schema, compiledSchema);
  }
  return compiledSchema;
}

/** Throws 400 `invalid_request` whose details name each invalid field. */
export function check(schema: TSchema, value: unknown, part: 'body' | 'query' | 'tool'): void {
  const compiledSchema = validator(schema);
  if (compiledSchema.Check(value)) return;
  if (value === undefined) throw new ServiceError(400, 'invalid_request', 'This operation needs a JSON body.');
  const details = schemaProblems(compiledSchema.Errors(value));
  const message = details.map((detail) => `${detail.path || `The ${part}`} ${detail.message}`).join('; ');
  throw new ServiceError(400, 'invalid_request', `${message}.`, { details });
}

/** The query in the form of its schema: with numbers converted and defaults filled in. */
export function readQuery(schema: TObject | undefined, search: URLSearchParams): unknown {
  if (schema === undefined) return undefined;
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties) as [string, { type?: string; default?: unknown }][]) {
    const texts = search.getAll(name);
    if (texts.length > 1) {
      throw new ServiceError(400, 'invalid_request', `${name} appears more than once.`, {
        details: [{ path: name, message: 'appears more than once' }],
      });
    }
    const text = texts[0];
    if (text !== undefined) values[name] = property.type === 'integer' || property.type === 'number' ? numberOrText(text) : text;
    else if (property.default !== undefined) values[name] = property.default;
  }
  check(schema, values, 'query');
  return values;
}

/** A number that JavaScript and the database can represent exactly; the schema rejects values that stay text. */
const numberOrText = (text: string): number | string =>
  /^-?\d+(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER ? Number(text) : text;
