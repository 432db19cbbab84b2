/**
 * Schemas as the OpenAPI document has them: an object with a name (`$id`) is listed once, and referred to wherever it is used.
 * Alternatives of constants become an `enum`, which generators of clients support better.
 */
type Json = Record<string, unknown>;

export class NamedSchemas {
  readonly #found = new Map<string, { text: string; schema: unknown }>();

  /** A schema of the contract with references for what has a name. @throws Error when two different schemas have the same name */
  referring(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((one) => this.referring(one));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { $id: name, ...rest } = schema as Json;
    if (typeof name !== 'string') return this.#plain(rest);
    const text = JSON.stringify(rest);
    const known = this.#found.get(name);
    if (known !== undefined && known.text !== text) throw new Error(`Two different schemas are named ${name}.`);
    if (known === undefined) {
      const entry = { text, schema: undefined as unknown };
      this.#found.set(name, entry);
      entry.schema = this.#plain(rest);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Everything that was referred to so far, by name and in the order of names. */
  all(): Json {
    const names = [...this.#found.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, this.#found.get(name)?.schema]));
  }

  #plain(schema: Json): Json {
    const { anyOf, ...rest } = schema;
    const words = Array.isArray(anyOf) ? anyOf.map((one) => (one as Json).const) : [];
    const isChoice = words.length > 0 && words.every((word) => typeof word === 'string');
    const shown = isChoice ? { type: 'string', enum: words, ...rest } : schema;
    return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, this.referring(value)]));
  }
}
