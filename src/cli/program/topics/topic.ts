/** A topic of the help, such as `aops help scripting`. */

/** A paragraph, a heading, lines to type, or rows of a term and its meaning. */
export type Block = string | { heading: string } | { code: readonly string[] } | { rows: readonly (readonly [string, string])[] };

export interface Topic {
  /** One line, without a full stop. */
  summary: string;
  blocks: () => readonly Block[];
}
