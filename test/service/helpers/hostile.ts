/** Bodies that nobody means well with, made from what an operation takes. */
import { randomUUID } from 'node:crypto';
import type { TSchema } from 'typebox';
import type { OperationId } from '../../../src/interface/operations.ts';
import { schemasOf } from '../../../src/interface/schemas.ts';
import { type Owned, requestFor } from './everything.ts';

const strangeTexts = ['', 'a\u0000b', '\udc00\ud800', 'x'.repeat(60_000)];
const strangeNumbers = [-1, 0.5, 2 ** 53, 1e308];
const strangeFor = (value: unknown): unknown[] => [
  ...(typeof value === 'string' ? strangeTexts : typeof value === 'number' ? strangeNumbers : [1]),
  null,
  ['x'],
];

/** What the operation takes, with everything that may be left out. */
export function fullBody(id: OperationId, of: Owned): unknown {
  const { body } = requestFor(id, of);
  return { ...(sample(schemasOf(id).body as TSchema) as object), ...(body as object) };
}

interface Shape {
  const?: unknown;
  anyOf?: Shape[];
  allOf?: Shape[];
  type?: string;
  format?: string;
  properties?: Record<string, Shape>;
  patternProperties?: Record<string, Shape>;
  items?: Shape;
  minimum?: number;
}

function sample(schema: TSchema | Shape): unknown {
  const { const: word, anyOf, allOf, type, format, properties, patternProperties, items, minimum } = schema as Shape;
  if (word !== undefined) return word;
  if (anyOf !== undefined) return sample(anyOf[0] as Shape);
  if (allOf !== undefined) return Object.assign({}, ...allOf.map(sample));
  if (properties !== undefined) return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, sample(one)]));
  if (patternProperties !== undefined) return Object.fromEntries(Object.values(patternProperties).map((one) => ['key', sample(one)]));
  if (items !== undefined) return [sample(items)];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return minimum ?? 1;
  if (format === 'uuid') return randomUUID();
  return format === 'date-time' ? '2026-07-18T09:00:00.000Z' : 'text';
}

/** Bodies in which one place after the other holds something strange, and some with more than is asked for. */
export function hostileBodies(body: unknown): string[] {
  const texts = ['{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}'];
  const plain = JSON.stringify(body ?? {});
  texts.push(`{"__proto__":{"admin":true},"x":1${plain === '{}' ? '' : `,${plain.slice(1, -1)}`}}`);
  for (const place of places(body, []))
    for (const value of [...strangeFor(at(body, place)), ...many(at(body, place))])
      texts.push(JSON.stringify(replaced(body, place, value)));
  return texts;
}

type Place = (string | number)[];
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const at = (value: unknown, place: Place): unknown => place.reduce((of, name) => (of as Record<string | number, unknown>)[name], value);

/** As many of what a list or a record holds as fit a body. */
function many(value: unknown): unknown[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [];
  const [one] = Object.values(value);
  const count = Math.floor(1_000_000 / (JSON.stringify(one).length + 10));
  if (Array.isArray(value))
    return [
      Array.from({ length: count }, () => one),
      Array.from({ length: count }, (_, index) => (typeof one === 'string' && one.length < 36 ? `${index}` : one)),
    ];
  return [Object.fromEntries(Array.from({ length: Math.min(count, 20_000) }, (_, index) => [`k${index}`, one]))];
}

function places(value: unknown, at: Place): Place[] {
  if (!isObject(value)) return [at];
  const below = Object.entries(value).flatMap(([name, one]) => places(one, [...at, Array.isArray(value) ? Number(name) : name]));
  return at.length === 0 ? below : [at, ...below];
}

function replaced(value: unknown, [name, ...rest]: Place, by: unknown): unknown {
  if (name === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  copy[name] = replaced(copy[name], rest, by);
  return copy;
}
