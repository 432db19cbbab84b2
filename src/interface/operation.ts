/**
 * What the contract says of an operation. The rows live in `operations/<group>.ts` and the schemas in
 * `schemas/<group>.ts`: starting the command line reads the rows alone, never the schemas.
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
  /** The last parameter takes what is left of the path, with its slashes. */
  readonly rest?: true;
  /** Request body other than JSON. */
  readonly request?: 'multipart/form-data';
  /** Media type of a success response other than JSON. */
  readonly produces?: 'text/html' | 'application/pdf' | 'text/event-stream';
  /** Offered by the local service beyond the interface; another service may not know it. */
  readonly extension?: true;
}

/** Shapes of one operation. Absent `query` or `body` means the operation takes none. */
export interface OperationSchemas {
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Whether the request may come without the body. */
  readonly optionalBody?: true;
  readonly response: TSchema;
}

/** Names of the parameters in a path template, as a type. */
export type PathParameterName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameterName<Rest>
  : never;
