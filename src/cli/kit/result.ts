/**
 * The JSON that a command prints, described as data: its place in the contract, fields of its own, or both. Help, the manual,
 * completion of --fields, `aops commands --json` and the tests with sample data use it.
 */
import type { OperationId } from '../../interface/operations.ts';

/**
 * A place in the contract's responses: `getRun.run`, `listRuns.data[]`. The part after the operation is a path of members;
 * `[]` stands for the elements of a list.
 */
export type ContractPath = OperationId | `${OperationId}.${string}`;

/** A field's type in words (`string`, `uuid`, `date-time`, `url`, `integer`, `number`, `boolean`, `object`, `a|b`, each also with `[]`, `|null` or, if it may be missing, `?`), or its own fields. */
export type FieldShape = string | FieldShapes | readonly [FieldShapes];
export interface FieldShapes {
  readonly [name: string]: FieldShape;
}

export interface ResultShape {
  readonly contract?: ContractPath;
  readonly fields?: FieldShapes;
}

/** `returns('getRun.run')`, `returns({ name: 'string' })`, or both: fields of the contract, and additional fields. */
export function returns(contract: ContractPath, fields?: FieldShapes): ResultShape;
export function returns(fields: FieldShapes): ResultShape;
export function returns(first: ContractPath | FieldShapes, more?: FieldShapes): ResultShape {
  if (typeof first !== 'string') return { fields: first };
  return more === undefined ? { contract: first } : { contract: first, fields: more };
}
