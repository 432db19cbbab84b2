/**
 * What the contract defines about an operation. The rows live in `operations/<group>.ts` and the schemas in
 * `schemas/<group>.ts`: the command line loads only the rows when it starts, never the schemas.
 */
import type { TObject, TSchema } from 'typebox';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One row of the runtime table. */
export interface Operation {
  readonly method: HttpMethod;
  /** Path template beginning with `/v2`, parameters in braces: `/v2/runs/{run_id}`. */
  readonly path: string;
  /** Whether it changes something, and so accepts an `Idempotency-Key` (interface part 8). */
  readonly idempotent: boolean;
  /** Status of the success response; 308 for a retired operation that redirects to another. */
  readonly success: 200 | 201 | 202 | 308;
  /** One line for help, `aops api --list` and the reference. */
  readonly summary: string;
  /** Whether the last parameter takes the rest of the path, including slashes. */
  readonly rest?: true;
  /** Request body other than JSON. */
  readonly request?: 'multipart/form-data' | 'application/x-tar';
  /** Media type of a success response other than JSON. */
  readonly produces?: 'text/html' | 'application/pdf' | 'application/x-tar' | 'text/event-stream';
  /** Whether it is an extension of the local service, which other services might not have. */
  readonly extension?: true;
}

/** Shapes of one operation. Absent `query` or `body` means the operation takes none. */
export interface OperationSchemas {
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Whether the body is optional. */
  readonly optionalBody?: true;
  readonly response: TSchema;
}

/** Names of the parameters in a path template, as a type. */
export type PathParameterName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameterName<Rest>
  : never;
