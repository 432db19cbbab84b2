/** What `aops agents init` writes. */

/** What a template is filled with. */
export interface TemplateInput {
  /** The name of the agent. */
  name: string;
  /** The program, for templates that run one. */
  program: TemplateProgram | undefined;
}

export interface TemplateProgram {
  /** The line of the definition that names it: `acp: claude` or `command: [...]`. */
  line: string;
  /** The name of the secret that it usually needs, if any. */
  secret: string | undefined;
}

export interface Template {
  /** One line, without a full stop. */
  summary: string;
  /** Whether it runs a program. */
  needsProgram: boolean;
  /** The files by path. */
  files(input: TemplateInput): Record<string, string>;
  /** The commands to continue with. */
  next(input: TemplateInput): string[];
}
