/** Tools as results, and their arguments in words, from their JSON Schema. Pure. */
import { isObject } from '../../base/values.ts';
import type { ListedTool } from '../../client/mcp/tools.ts';
import { returns } from '../result.ts';

/** A tool as the protocol lists it. */
export const listedTool = returns({
  name: 'string',
  title: 'string?',
  description: 'string?',
  inputSchema: 'object',
  annotations: { readOnlyHint: 'boolean?', destructiveHint: 'boolean?', idempotentHint: 'boolean?', openWorldHint: 'boolean?' },
});

export interface ToolArgument {
  name: string;
  type: string;
  required: boolean;
  meaning: string;
}

export function toolArgumentsOf({ inputSchema }: ListedTool): ToolArgument[] {
  const properties = isObject(inputSchema.properties) ? inputSchema.properties : {};
  const required = Array.isArray(inputSchema.required) ? inputSchema.required : [];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    type: typeOf(schema),
    required: required.includes(name),
    meaning: isObject(schema) && typeof schema.description === 'string' ? schema.description : '',
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
