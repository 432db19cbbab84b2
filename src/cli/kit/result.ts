/**
 * What a command prints as JSON, as data: the place of the contract it comes from, fields of its own, or both. Help, the manual,
 * completion of --fields, `aops commands --json` and the tests with sample data read it.
 */
import type { OperationId } from '../../interface/operations.ts';

/**
 * A place in the contract's responses: `getRun.run`, `listRuns.data[]`. The part after the operation is a path of members;
 * `[]` goes into a list.
 */
export type ContractPath = OperationId | `${OperationId}.${string}`;

/** A field's type in words (`string`, `uuid`, `date-time`, `url`, `integer`, `number`, `boolean`, `object`, `a|b`, each also with `[]`, `|null` or, where it may be missing, `?`), or what is in it. */
export type FieldShape = string | FieldShapes | readonly [FieldShapes];
export interface FieldShapes {
  readonly [name: string]: FieldShape;
}

export interface ResultShape {
  readonly contract?: ContractPath;
  readonly fields?: FieldShapes;
}

/** `returns('getRun.run')`, `returns({ name: 'string' })`, or both: what the contract says, and fields beside. */
export function returns(contract: ContractPath, fields?: FieldShapes): ResultShape;
export function returns(fields: FieldShapes): ResultShape;
export function returns(first: ContractPath | FieldShapes, more?: FieldShapes): ResultShape {
  if (typeof first !== 'string') return { fields: first };
  return more === undefined ? { contract: first } : { contract: first, fields: more };
}
