/** Replaces what looks like a secret, and counts what was replaced and where. The values are not retained. */
import { createRedactor, type Redactor } from './redaction.ts';
import { isSecretName, secretPatterns } from './secret-patterns.ts';
import { isObject } from './values.ts';

/** Secrets of one kind that were replaced in one place. */
export interface Redaction {
  kind: string;
  /** Where they were, in words: `tool results`. */
  place: string;
  count: number;
}

/** The marker of a secret that was replaced earlier: the service replaces those of agents with their names. */
const earlierMarker = /\[secret ([A-Za-z_][\w.-]{0,99})\]/g;

/** Shorter texts of fields with secret names are left unchanged: they are words such as `none`. */
const minFieldLength = 6;

/** Values that are nested more deeply are left out, because they could exhaust the stack. */
const maxDepth = 200;

export class SecretRedaction {
  readonly #values: readonly (readonly [kind: string, redactor: Redactor])[];
  readonly #counts = new Map<string, Redaction>();

  /** @param values further texts to replace, by what they are */
  constructor(values: ReadonlyMap<string, string> = new Map()) {
    this.#values = [...values].map(([kind, secret]) => [kind, createRedactor(new Map([[kind, secret]]))]);
  }

  /** What was replaced so far, by place and kind. */
  get list(): Redaction[] {
    const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
    return [...this.#counts.values()].sort((a, b) => order(a.place, b.place) || order(a.kind, b.kind));
  }

  /** The text with a marker such as `[redacted: GitHub token]` in place of each secret. */
  text(text: string, place: string): string {
    for (const [, name] of text.matchAll(earlierMarker)) this.#count(`secret ${name}, replaced by the service`, place);
    let result = text;
    for (const [kind, redactor] of this.#values) {
      const parts = redactor.text(result).split(`[secret ${kind}]`);
      if (parts.length > 1) this.#count(kind, place, parts.length - 1);
      result = parts.join(`[redacted: ${kind}]`);
    }
    for (const { kind, pattern } of secretPatterns) result = this.#replace(result, pattern, kind, place);
    return result;
  }

  /** A copy of a JSON value without the secrets in its strings, and without the texts of fields whose names say that they are secrets. */
  value(value: unknown, place: string, depth = 0): unknown {
    if (typeof value === 'string') return this.text(value, place);
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= maxDepth) return '[left out: nested too deeply]';
    if (Array.isArray(value)) return value.map((item) => this.value(item, place, depth + 1));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => {
        if (!isSecretText(name, part)) return [this.text(name, place), this.value(part, place, depth + 1)];
        this.#count('secret field', place);
        return [name, '[redacted: secret field]'];
      }),
    );
  }

  #replace(text: string, pattern: RegExp, kind: string, place: string): string {
    return text.replaceAll(pattern, (...match) => {
      this.#count(kind, place);
      const whole = match[0] as string;
      const groups = match.at(-1) as { secret?: string } | string;
      const secret = typeof groups === 'object' ? groups.secret : undefined;
      if (secret === undefined) return `[redacted: ${kind}]`;
      // The secret is at the end of the match, except for a closing character.
      const start = whole.lastIndexOf(secret);
      return `${whole.slice(0, start)}[redacted: ${kind}]${whole.slice(start + secret.length)}`;
    });
  }

  #count(kind: string, place: string, count = 1): void {
    const key = JSON.stringify([place, kind]);
    const entry = this.#counts.get(key) ?? { kind, place, count: 0 };
    entry.count += count;
    this.#counts.set(key, entry);
  }
}

/** Whether the text of a field is a secret, judging by its name. What begins with a bracket is a marker. */
const isSecretText = (name: string, text: unknown): boolean =>
  typeof text === 'string' && text.length >= minFieldLength && isSecretName(name) && !text.startsWith('[');
