/** What is asked, and how it may be withdrawn. */
import type { PromptNeeded } from '../prompt-errors.ts';

/** A question that a person's own command asks, and that decides no human request. */
export interface PlainQuestion extends PromptNeeded {
  message: string;
}

export interface Question extends PlainQuestion {
  /** What to know before the message is read; shown above it. */
  above?: string | undefined;
  /** What belongs to the message, such as a description; shown below it. */
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
  /** Withdraws the prompt: it leaves the screen and the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface PromptOptions extends Withdrawal {
  /**
   * Whether the prompt appears by itself rather than in reply to something the person just did. Keys are then ignored for a
   * short, visible time, because they were meant for something else.
   */
  unsolicited?: boolean;
}

type Validate = (text: string) => true | string;

export interface InputQuestion extends Question {
  validate?: Validate;
  /** Lets Enter without a text open $VISUAL or $EDITOR, where there is one, on a file with this extension, such as `.md`. */
  editor?: string | undefined;
  /** Receives a text that was written when the prompt ends without an answer. */
  onUnsent?: (text: string) => void;
}
