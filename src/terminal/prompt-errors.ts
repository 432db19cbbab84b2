/** How asking can fail. */
import { AopsError, exitCodes, UsageError } from '../base/errors.ts';
import { sanitizeLine } from './sanitize.ts';

/** The person pressed Ctrl-C, or the terminal was closed. */
export class PromptCancelled extends AopsError {
  constructor() {
    super('Cancelled.', { code: 'interrupted', exit: exitCodes.interrupted });
  }
}

/** The person pressed Escape at a prompt that offers it. */
export class PromptDismissed extends AopsError {
  constructor() {
    super('Left unanswered.', { code: 'interrupted', exit: exitCodes.interrupted });
  }
}

export interface PromptNeeded {
  /** The flag that answers the question where nobody can be asked: `--yes`, `--answer TEXT`. */
  flag?: string;
}

/** The error for a question that cannot be asked here. */
export function promptNeeded(message: string, { flag }: PromptNeeded): UsageError {
  return new UsageError(
    `A question needs an answer, and there is no terminal to ask it on: ${sanitizeLine(message)}`,
    flag === undefined ? 'Run the command at a terminal, without --no-input.' : `Pass ${flag}, or run the command at a terminal.`,
    'prompt_needed',
  );
}
