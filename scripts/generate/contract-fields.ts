/** src/cli/program/contract-fields.json: the fields of the contract's results, so that help does not have to load a schema. */
import type { TSchema } from 'typebox';
import type { ContractPath, ResultShape } from '../../src/cli/kit/result.ts';
import { loadAllCommands } from '../../src/cli/program/describe.ts';
import { commandTree } from '../../src/commands/index.ts';
import type { OperationId } from '../../src/interface/operations.ts';
import { schemasOf } from '../../src/interface/schemas.ts';

export const contractFieldsFile = 'src/cli/program/contract-fields.json';

/** The part of JSON Schema that the contract uses. */
export interface Schema {
  type?: string;
  format?: string;
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
  minLength?: number;
  minimum?: number;
}

/** The schema at a place of the contract. @throws Error if the place does not exist */
export function schemaAt(path: ContractPath): Schema {
  const [operation, ...members] = path.split('.') as [OperationId, ...string[]];
  return members.reduce<Schema>(
    (schema, member) => {
      const name = member.replace('[]', '');
      const propertySchema = propertiesOf(schema)[name];
      const inner = member.endsWith('[]') ? propertySchema && withoutNull(propertySchema).items : propertySchema;
      if (!inner) throw new Error(`the contract has no ${path}: "${name}" is not there`);
      return inner;
    },
    schemasOf(operation).response as TSchema as Schema,
  );
}

/** The members of an object schema; those of intersections are merged. */
export function propertiesOf(schema: Schema): Record<string, Schema> {
  const plain = withoutNull(schema);
  return Object.assign({}, ...(plain.allOf ?? []).map(propertiesOf), plain.properties);
}

export const requiredOf = (schema: Schema): readonly string[] => [
  ...(withoutNull(schema).allOf ?? []).flatMap(requiredOf),
  ...(withoutNull(schema).required ?? []),
];

export const isNull = ({ type }: Schema): boolean => type === 'null';

/** A schema without its null alternative. */
export function withoutNull(schema: Schema): Schema {
  const otherSchemas = schema.anyOf?.filter((variant) => !isNull(variant));
  return otherSchemas?.length === 1 && otherSchemas.length < (schema.anyOf?.length ?? 0) ? (otherSchemas[0] as Schema) : schema;
}

/** `uuid`, `integer|null`, `approval|question`, `string[]` */
export function typeWord(schema: Schema): string {
  const { type, format, items, anyOf } = schema;
  if (anyOf) return [...new Set(anyOf.map(typeWord))].sort((a, b) => Number(a === 'null') - Number(b === 'null')).join('|');
  if (schema.const !== undefined) return String(schema.const);
  if (type === 'array') {
    const word = items ? typeWord(items) : 'any';
    return word.includes('|') ? `(${word})[]` : `${word}[]`;
  }
  if (type === 'string') return format ?? 'string';
  if (type !== undefined) return type;
  return schema.allOf || schema.properties ? 'object' : 'any';
}

export async function contractFields(): Promise<string> {
  const paths = (await loadAllCommands(commandTree)).flatMap(({ command }) => (command.result as ResultShape | undefined)?.contract ?? []);
  const fields = [...new Set(paths)].sort().map((path) => {
    const schema = schemaAt(path);
    return [
      path,
      Object.fromEntries(Object.entries(propertiesOf(schema)).map(([name, propertySchema]) => [name, typeWord(propertySchema)])),
    ];
  });
  return `${JSON.stringify(Object.fromEntries(fields), null, 2)}\n`;
}
