/** The settings of a prompt for a text. */
import type { Base } from './view.ts';

export interface WriteConfig {
  base: Base;
  /** Text that is there already, such as what an editor returned. */
  text: string;
  validate: (text: string) => true | string;
  /** The reason for asking again. */
  problem: string | undefined;
  /** What Enter without a text does where that is not an answer; the prompt then resolves to undefined. */
  onEmpty: string | undefined;
  /** Called with the text whenever it changes. */
  changed: (text: string) => void;
}

/** What may be left out. */
export type Writing = { [Setting in keyof Omit<WriteConfig, 'base'>]?: WriteConfig[Setting] | undefined };

export const writeConfig = (writing: Writing, base: Base): WriteConfig => ({
  base,
  text: writing.text ?? '',
  validate: writing.validate ?? (() => true),
  problem: writing.problem,
  onEmpty: writing.onEmpty,
  changed: writing.changed ?? (() => undefined),
});
