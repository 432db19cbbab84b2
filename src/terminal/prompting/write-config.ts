/** The settings of a prompt for a text. */
import { sanitize } from '../sanitize.ts';
import type { Base } from './view.ts';

export interface WriteConfig {
  base: Base;
  /** The answer where nothing is written. */
  initial: string;
  /** Text that is there already, such as what an editor returned. */
  text: string;
  /** What each character is shown as. */
  mask: string | undefined;
  validate: (text: string) => true | string;
  /** The reason for asking again. */
  problem: string | undefined;
  /** What Enter without a text does where that is not an answer; the prompt then resolves to undefined. */
  onEmpty: string | undefined;
  /** What stands behind the message while nothing is written. */
  hint: string;
  /** How the answer stays on the screen. */
  show: (answer: string) => string;
  /** Called with the text whenever it changes. */
  changed: (text: string) => void;
}

/** What may be left out. */
export type Writing = { [Setting in keyof Omit<WriteConfig, 'base'>]?: WriteConfig[Setting] | undefined };

export const writeConfig = (writing: Writing, base: Base): WriteConfig => ({
  base,
  initial: writing.initial ?? '',
  text: writing.text ?? '',
  mask: writing.mask,
  validate: writing.validate ?? (() => true),
  problem: writing.problem,
  onEmpty: writing.onEmpty,
  hint: writing.hint ?? '',
  show: writing.show ?? sanitize,
  changed: writing.changed ?? (() => undefined),
});
