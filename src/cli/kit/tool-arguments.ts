/** A table of a tool's arguments, derived from their JSON Schema. Pure. */
import { isObject } from '../../base/values.ts';
import type { View } from '../../terminal/cell.ts';
import { type Field, renderRecord } from '../../terminal/record.ts';
import { renderTable } from '../../terminal/table.ts';
import { column } from './output.ts';

interface ToolArgument {
  name: string;
  type: string;
  required: boolean;
  meaning: string;
}

const columns = [
  column<ToolArgument>('ARGUMENT', ({ name }) => name),
  column<ToolArgument>('TYPE', ({ type }) => type, { shrink: true }),
  column<ToolArgument>('REQUIRED', ({ required }) => required),
  column<ToolArgument>('MEANING', ({ meaning }) => meaning, { shrink: true, min: 24 }),
];

/** The details of a tool, followed by its arguments. */
export async function describeTool(fields: readonly Field[], schema: unknown, view: View): Promise<string> {
  const table = await renderTable(toolArgumentsOf(schema), columns, view);
  return `${await renderRecord(fields, view)}${table !== '' && view.tty ? '\n' : ''}${table}`;
}

function toolArgumentsOf(schema: unknown): ToolArgument[] {
  const { properties: propertySchemas, required: requiredNames } = isObject(schema) ? schema : {};
  const properties = isObject(propertySchemas) ? propertySchemas : {};
  const required = Array.isArray(requiredNames) ? requiredNames : [];
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeOf(property),
    required: required.includes(name),
    meaning: isObject(property) && typeof property.description === 'string' ? property.description : '',
  }));
}

function typeOf(schema: unknown): string {
  if (!isObject(schema)) return 'anything';
  const { const: only, enum: words, anyOf, oneOf, type, format, items } = schema;
  if (only !== undefined) return String(only);
  if (Array.isArray(words)) return words.map(String).join(' | ');
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) return alternatives.map(typeOf).join(' | ');
  if (type === 'array') return `list of ${typeOf(items)}`;
  if (type === 'string' && typeof format === 'string') return format;
  return Array.isArray(type) ? type.join(' | ') : typeof type === 'string' ? type : 'anything';
}
