/**
 * Schemas as the OpenAPI document has them: an object with a name (`$id`) is listed once, and referred to wherever it is used.
 * Alternatives of constants become an `enum`, which generators of clients support better.
 */
type Json = Record<string, unknown>;

export class NamedSchemas {
  readonly #schemas = new Map<string, { text: string; schema: unknown }>();

  /** A schema of the contract with references for what has a name. @throws Error when two different schemas have the same name */
  withReferences(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((item) => this.withReferences(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { $id: name, ...rest } = schema as Json;
    if (typeof name !== 'string') return this.#describe(rest);
    const text = JSON.stringify(rest);
    const existing = this.#schemas.get(name);
    if (existing !== undefined && existing.text !== text) throw new Error(`Two different schemas are named ${name}.`);
    if (existing === undefined) {
      const entry = { text, schema: undefined as unknown };
      this.#schemas.set(name, entry);
      entry.schema = this.#describe(rest);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Everything that was referred to so far, by name and in the order of names. */
  all(): Json {
    const names = [...this.#schemas.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, this.#schemas.get(name)?.schema]));
  }

  #describe(schema: Json): Json {
    const { anyOf, ...rest } = schema;
    const words = Array.isArray(anyOf) ? anyOf.map((variant) => (variant as Json).const) : [];
    const isChoice = words.length > 0 && words.every((word) => typeof word === 'string');
    const withEnum = isChoice ? { type: 'string', enum: words, ...rest } : schema;
    return Object.fromEntries(Object.entries(withEnum).map(([name, value]) => [name, this.withReferences(value)]));
  }
}
