/**
 * Sample results of every command, always the same, derived from the `result` of its definition: the contract's schema, or its own
 * fields. `ordinary` looks like real data, `hostile` contains every kind of text, and `bare` omits all optional fields.
 */
import { propertiesOf, requiredOf, type Schema, schemaAt, withoutNull } from '../../scripts/generate/contract-fields.ts';
import type { AnyCommand } from '../../src/cli/kit/command.ts';
import type { FieldShape, FieldShapes, ResultShape } from '../../src/cli/kit/result.ts';

export type Kind = 'ordinary' | 'hostile' | 'bare';

/** The current time for all samples. */
export const now = Date.parse('2026-07-18T12:00:00.000Z');

const hostileText =
  'Zahle \u001b[31m3 Rechnungen\u001b[0m\u202e über 4.065,75 €\n請求書を三件支払いますか 👩‍👩‍👧‍👦 and then go on for much longer than any column is wide';

const samples: Record<string, string> = {
  title: 'Check the March invoices',
  name: 'invoice-check',
  agent_name: 'invoice-check',
  run_title: 'March',
  email: 'ana@example.com',
  path: '/workspace/report.md',
  file: 'out/report.md',
  data_dir: '/home/ana/.local/share/aops/local',
  version: '0.1.0',
  text_content: 'Hello March',
  mime_type: 'image/png',
};

/** Exceptions, for fields that depend on each other, or that a command shows without declaring them. */
const special: Readonly<Record<string, (way: Way) => object>> = {
  'Verify the signature of a delivery': ({ kind }) => (kind === 'bare' ? { reason: 'no_match' } : {}),
  'Show a case with its data and history': (way) => ({ events: fromSchema(schemaAt('getCase.events'), 'events', way) }),
};

/** The result of a command, or one of its rows. */
export function sampleOf(command: AnyCommand, kind: Kind, seed = 1): Record<string, unknown> {
  const { contract, fields } = command.result as ResultShape;
  return {
    ...(contract === undefined ? {} : (fromSchema(schemaAt(contract), '', { kind, seed }) as object)),
    ...fromShapes(fields ?? {}, { kind, seed }),
    ...special[command.summary]?.({ kind, seed }),
  };
}

interface Way {
  kind: Kind;
  seed: number;
}

function fromSchema(schema: Schema, name: string, way: Way): unknown {
  const { anyOf, items, type, format } = schema;
  if (schema.const !== undefined) return schema.const;
  if (anyOf) {
    const nullable = anyOf.some((variant) => variant.type === 'null');
    if (nullable && way.kind === 'bare') return null;
    if (nullable) return fromSchema(withoutNull(schema), name, way);
    return fromSchema(anyOf[(way.seed - 1) % anyOf.length] as Schema, name, way);
  }
  if (type === 'array') return way.kind === 'bare' || !items ? [] : [fromSchema(items, name, way)];
  if (type === 'object' || schema.allOf || schema.properties) {
    const required = requiredOf(schema);
    const knownProperties = Object.entries(propertiesOf(schema)).filter(([key]) => way.kind !== 'bare' || required.includes(key));
    return Object.fromEntries(knownProperties.map(([key, property]) => [key, fromSchema(property, key, way)]));
  }
  if (type === 'string') return word(format ?? 'string', name, way);
  return word(type ?? 'any', name, way);
}

const fromShapes = (shapes: FieldShapes, way: Way): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(shapes).flatMap(([name, shape]) => {
      if (way.kind === 'bare' && typeof shape === 'string' && shape.endsWith('?')) return [];
      return [[name, fromShape(shape, name, way)]];
    }),
  );

function fromShape(shape: FieldShape, name: string, way: Way): unknown {
  if (typeof shape !== 'string')
    return Array.isArray(shape) ? [fromShapes(shape[0] as FieldShapes, way)] : fromShapes(shape as FieldShapes, way);
  const words = shape.replace('?', '').split('|');
  if (words.includes('null') && way.kind === 'bare') return null;
  const types = words.filter((word) => word !== 'null');
  const chosenType = types[(way.seed - 1) % types.length] as string;
  if (chosenType.endsWith('[]')) return way.kind === 'bare' ? [] : [word(chosenType.slice(0, -2), name, way)];
  return word(chosenType, name, way);
}

/** A value of a type that is described by a word. */
function word(type: string, name: string, { kind, seed }: Way): unknown {
  switch (type) {
    case 'uuid':
      return `${String(seed).padStart(8, '0')}-6c6e-4b0e-9f0e-0d4d4f3a2b11`;
    case 'date-time':
      return new Date(now - seed * 25 * 60_000).toISOString();
    case 'url':
    case 'uri':
      return 'https://agents.example.com/hook';
    case 'integer':
      return kind === 'hostile' ? 9_007_199_254_740_991 : 3 * seed;
    case 'number':
      return kind === 'hostile' ? 123_456_789.125 : 0.75;
    case 'boolean':
      return kind !== 'bare';
    case 'object':
      return kind === 'bare' ? {} : { key: text(name, kind) };
    case 'any':
    case 'string':
      return text(name, kind);
    default:
      return type;
  }
}

function text(name: string, kind: Kind): string {
  if (/(^|_)id$/.test(name)) return 'a1b2c3d4';
  if (kind === 'hostile') return hostileText;
  return kind === 'bare' ? '' : (samples[name] ?? `Some ${name.replaceAll('_', ' ') || 'text'}`);
}
