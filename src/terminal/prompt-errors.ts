/** How a prompt can fail. */
import { AopsError, exitCodes, UsageError } from '../base/errors.ts';
import { sanitizeLine } from './sanitize.ts';

/** The user pressed Ctrl-C, or the terminal was closed. */
export class PromptCancelled extends AopsError {
  constructor() {
    super('Cancelled.', { code: 'interrupted', exit: exitCodes.interrupted });
  }
}

/** The user pressed Escape at a prompt that offers it. */
export class PromptDismissed extends AopsError {
  constructor() {
    super('Left unanswered.', { code: 'interrupted', exit: exitCodes.interrupted });
  }
}

export interface PromptNeeded {
  /** The flag that answers the question when there is no interactive terminal: `--yes`, `--answer TEXT`. */
  flag?: string;
}

/** The error for a question when there is no interactive terminal. */
export function promptNeeded(message: string, { flag }: PromptNeeded): UsageError {
  return new UsageError(
    `This question needs an answer, and there is no interactive terminal: ${sanitizeLine(message)}`,
    flag === undefined ? 'Run the command in a terminal, without --no-input.' : `Pass ${flag}, or run the command in a terminal.`,
    'prompt_needed',
  );
}
