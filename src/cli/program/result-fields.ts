/** The fields that commands print as JSON, including those from the contract. Loaded only for help and descriptions. */
import type { AnyCommand } from '../kit/command.ts';
import type { FieldShape, ResultShape } from '../kit/result.ts';
import contractFields from './contract-fields.json' with { type: 'json' };

export interface ResultFields {
  /** Whether the result is a list: `{"data": [...], "total", "limit", "offset"}`. */
  list: boolean;
  /** Its place in the contract; null when the command creates it. */
  contract: string | null;
  /** Types in words by name: `uuid`, `integer|null`, `string[]`. */
  fields: Record<string, string>;
}

/** Undefined for a command that prints no result of its own. */
export function resultFields({ result, output }: AnyCommand): ResultFields | undefined {
  if (!result) return undefined;
  const list = output?.kind === 'list' || output?.kind === 'raw';
  return { list, contract: result.contract ?? null, fields: typesOf(result) };
}

/** The names of all fields that a command can print, in whatever case. */
export const printedFields = ({ result, otherResults = [] }: AnyCommand): string[] =>
  result === undefined ? [] : [...new Set([result, ...otherResults].flatMap((shape) => Object.keys(typesOf(shape))))];

function typesOf({ contract, fields = {} }: ResultShape): Record<string, string> {
  const contractTypes = contract === undefined ? {} : (contractFields as Record<string, Record<string, string>>)[contract];
  return { ...contractTypes, ...Object.fromEntries(Object.entries(fields).map(([name, shape]) => [name, typeWord(shape)])) };
}

const typeWord = (shape: FieldShape): string => (typeof shape === 'string' ? shape : Array.isArray(shape) ? 'object[]' : 'object');
