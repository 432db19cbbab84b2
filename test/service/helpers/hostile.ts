/** Bodies that nobody means well with, made from what an operation takes. */
import { randomUUID } from 'node:crypto';
import type { TSchema } from 'typebox';
import type { OperationId } from '../../../src/interface/operations.ts';
import { schemasOf } from '../../../src/interface/schemas.ts';
import { type OwnedIds, requestFor } from './everything.ts';

const strangeTexts = ['', 'a\u0000b', '\udc00\ud800', 'x'.repeat(60_000)];
const strangeNumbers = [-1, 0.5, 2 ** 53, 1e308];
const strangeFor = (value: unknown): unknown[] => [
  ...(typeof value === 'string' ? strangeTexts : typeof value === 'number' ? strangeNumbers : [1]),
  null,
  ['x'],
];

/** What the operation takes, with everything that may be left out. */
export function fullBody(id: OperationId, ownedIds: OwnedIds): unknown {
  const { body } = requestFor(id, ownedIds);
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
  if (properties !== undefined)
    return Object.fromEntries(Object.entries(properties).map(([name, propertySchema]) => [name, sample(propertySchema)]));
  if (patternProperties !== undefined)
    return Object.fromEntries(Object.values(patternProperties).map((propertySchema) => ['key', sample(propertySchema)]));
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
    for (const value of [...strangeFor(valueAt(body, place)), ...many(valueAt(body, place))])
      texts.push(JSON.stringify(replaceAt(body, place, value)));
  return texts;
}

type Place = (string | number)[];
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const valueAt = (value: unknown, place: Place): unknown =>
  place.reduce((node, name) => (node as Record<string | number, unknown>)[name], value);

/** As many of what a list or a record holds as fit a body. */
function many(value: unknown): unknown[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [];
  const [onlyValue] = Object.values(value);
  const count = Math.floor(1_000_000 / (JSON.stringify(onlyValue).length + 10));
  if (Array.isArray(value)) {
    const sameValues = Array.from({ length: count }, () => onlyValue);
    const isWord = typeof onlyValue === 'string' && onlyValue.length < 36;
    return isWord ? [sameValues, Array.from({ length: count }, (_, index) => `${index}`)] : [sameValues];
  }
  return [Object.fromEntries(Array.from({ length: Math.min(count, 20_000) }, (_, index) => [`k${index}`, onlyValue]))];
}

function places(value: unknown, place: Place): Place[] {
  if (!isObject(value)) return [place];
  const childPlaces = Object.entries(value).flatMap(([name, child]) =>
    places(child, [...place, Array.isArray(value) ? Number(name) : name]),
  );
  return place.length === 0 ? childPlaces : [place, ...childPlaces];
}

function replaceAt(value: unknown, [name, ...remainingPlace]: Place, replacement: unknown): unknown {
  if (name === undefined) return replacement;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  copy[name] = replaceAt(copy[name], remainingPlace, replacement);
  return copy;
}
