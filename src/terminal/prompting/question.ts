/** Questions, their options, and how a prompt can be withdrawn. */
import type { PromptNeeded } from '../prompt-errors.ts';

/** A question about the user's own command, which does not decide a human request. */
export interface PlainQuestion extends PromptNeeded {
  message: string;
}

export interface Question extends PlainQuestion {
  /** Context to read before the message; shown above it. */
  above?: string | undefined;
  /** Details of the message, such as a description; shown below it. */
  detail?: string | undefined;
  /** What Escape does, such as "leave it pending": the prompt then rejects with `PromptDismissed`. */
  escape?: string;
}

export interface Choice<Value> {
  value: Value;
  name: string;
  /** Shown while the choice is highlighted. */
  description?: string;
  checked?: boolean;
}

export interface Withdrawal {
  /** Withdraws the prompt: it disappears from the screen, and the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface PromptOptions extends Withdrawal {
  /**
   * Whether the prompt appears by itself rather than in response to something the user has just done. Keys are then ignored for
   * a short, visible grace period, because they were meant for something else.
   */
  unsolicited?: boolean;
}

type Validate = (text: string) => true | string;

export interface InputQuestion extends Question {
  validate?: Validate;
  /** File extension, such as `.md`, with which Enter without a text opens $VISUAL or $EDITOR, if one is set. */
  editor?: string | undefined;
  /** Receives the text written so far when the prompt ends without an answer. */
  onUnsent?: (text: string) => void;
}
