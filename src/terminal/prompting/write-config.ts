/** The settings of a text prompt. */
import type { Base } from './view.ts';

export interface WriteConfig {
  base: Base;
  /** The initial text, such as the text from an editor. */
  text: string;
  validate: (text: string) => true | string;
  /** Why the question is asked again. */
  problem: string | undefined;
  /** What Enter without a text does if that is not an answer; the prompt then resolves to undefined. */
  onEmpty: string | undefined;
  /** Called with the text whenever it changes. */
  onChange: (text: string) => void;
}

/** The settings that may be left out. */
export type WriteSettings = { [Setting in keyof Omit<WriteConfig, 'base'>]?: WriteConfig[Setting] | undefined };

export const writeConfig = (settings: WriteSettings, base: Base): WriteConfig => ({
  base,
  text: settings.text ?? '',
  validate: settings.validate ?? (() => true),
  problem: settings.problem,
  onEmpty: settings.onEmpty,
  onChange: settings.onChange ?? (() => undefined),
});
