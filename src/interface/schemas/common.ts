/** Pieces that several groups' schemas share. */
import Type, { type Static, type TLiteral, type TSchema, type TUnion } from 'typebox';

export const Uuid = Type.String({ format: 'uuid' });
/** ISO 8601 date-time. */
export const DateTime = Type.String({ format: 'date-time' });
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
/** An object whose content the interface does not define. */
export const FreeForm = Type.Record(Type.String(), Type.Unknown());
/**
 * One of several words.
 * @param options the name under which the OpenAPI document lists them, and the default
 */
export const Words = <const T extends string[]>(words: T, options: { $id?: string; default?: T[number] } = {}) =>
  Type.Union(
    words.map((word) => Type.Literal(word)),
    options,
  ) as unknown as TUnion<{ [K in keyof T]: TLiteral<T[K]> }>;
/** An object with exactly the properties listed. */
export const Closed = <T extends Record<string, TSchema>>(properties: T) => Type.Object(properties, { additionalProperties: false });
/** An object that the OpenAPI document lists under a name, and refers to wherever it is used. */
export const Named = <T extends Record<string, TSchema>>(name: string, properties: T) => Type.Object(properties, { $id: name });
/** A named object with exactly the properties listed. */
export const NamedClosed = <T extends Record<string, TSchema>>(name: string, properties: T) =>
  Type.Object(properties, { $id: name, additionalProperties: false });

/** A named object with all properties of `base` and further ones. */
export const Extended = <B extends TSchema, T extends Record<string, TSchema>>(name: string, base: B, properties: T) =>
  Type.Intersect([base, Type.Object(properties)], { $id: name });

/**
 * `limit` and `offset` of a paged read; query strings are converted before validation. The size of a page is limited in bytes as
 * well, so it can have fewer rows than `limit` although more follow.
 */
export const paging = (maximum: number, fallback: number) => ({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum,
      default: fallback,
      description:
        'Maximum number of rows of a page. A page ends earlier when its rows are large, but has at least one: continue at offset plus the number of rows received, until total is reached.',
    }),
  ),
  offset: Type.Optional(Type.Integer({ minimum: 0, default: 0, description: 'How many rows to skip.' })),
});

/** What an evaluation of a run found. */
export const EvaluationSummary = Named('EvaluationSummary', {
  passed: Type.Number(),
  total: Type.Number(),
  final_comment: Type.Optional(Type.String()),
  status: Words(['ready', 'unavailable', 'in_progress']),
  severityCounts: Type.Optional(Type.Object({ critical: Type.Integer(), medium: Type.Integer(), low: Type.Integer() })),
});
export type EvaluationSummary = Static<typeof EvaluationSummary>;

/** The body of every error response (interface part 7). Open: `details` says which part of an input is invalid. */
export const ErrorBody = Named('Error', {
  error: Type.String(),
  message: Type.Optional(Type.String()),
  /** The scope that is missing, with `insufficient_scope`. */
  scope: Type.Optional(Type.String()),
  details: Type.Optional(
    Type.Array(
      Type.Object({
        message: Type.String(),
        path: Type.Optional(Type.String()),
        line: Type.Optional(Type.Integer()),
        column: Type.Optional(Type.Integer()),
      }),
    ),
  ),
});
export type ErrorBody = Static<typeof ErrorBody>;
