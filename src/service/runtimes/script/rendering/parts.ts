/**
 * The templates of a step, rendered together, each under a name. The same function renders them in this thread (if they are
 * certain to be quick) and in a worker (otherwise), so everything here can be copied between threads.
 */

import { render } from '../../../../base/liquid.ts';
import { type Command, renderCommand } from '../shell.ts';
import { holds, renderDeep, renderTexts, type Scope } from '../template.ts';

/** A template and the kind of its result. */
export type Part =
  | { as: 'text'; template: string }
  | { as: 'value'; template: unknown }
  | { as: 'texts'; template: unknown }
  | { as: 'command'; template: string }
  | { as: 'condition'; template: string };

/** Templates by name, without those that a step does not have. */
export type Parts = Record<string, Part | undefined>;

/** The results of templates, by the same names. */
export type Values<P extends Parts> = { [Name in keyof P]: ValueOf<P[Name]> };
type ValueOf<P> = P extends { as: 'texts'; template: infer T }
  ? T
  : P extends { as: infer Kind extends keyof ValueKinds }
    ? ValueKinds[Kind]
    : undefined;
interface ValueKinds {
  text: string;
  value: unknown;
  command: Command;
  condition: boolean;
}

/** A text, or undefined if there is no template. */
export function text(template: string): { as: 'text'; template: string };
export function text(template: string | undefined): { as: 'text'; template: string } | undefined;
export function text(template: string | undefined) {
  return template === undefined ? undefined : { as: 'text' as const, template };
}
/** A value; a text in it that consists of a single output keeps the type of that value. */
export const value = (template: unknown) => ({ as: 'value' as const, template });
/** A value in which every text stays a text. */
export const texts = <T>(template: T) => ({ as: 'texts' as const, template });
/** A command for /bin/sh. */
export const command = (template: string) => ({ as: 'command' as const, template });
/** Whether a condition is true. */
export const condition = (template: string) => ({ as: 'condition' as const, template });

/** Renders the parts one after another. Throws a TemplateError. */
export function renderParts(parts: Parts, scope: Scope): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part && renderPart(part, scope)]));
}

function renderPart(part: Part, scope: Scope): unknown {
  switch (part.as) {
    case 'text':
      return render(part.template, scope);
    case 'value':
      return renderDeep(part.template, scope);
    case 'texts':
      return renderTexts(part.template, scope);
    case 'command':
      return renderCommand(part.template, scope);
    case 'condition':
      return holds(part.template, scope);
  }
}

/** All texts of the templates. A condition is treated like an output. */
export function templatesOf(parts: Parts): string[] {
  const partTexts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') partTexts.push(value);
    else if (Array.isArray(value)) value.forEach(collect);
    else if (value !== null && typeof value === 'object') Object.values(value).forEach(collect);
  };
  for (const part of Object.values(parts)) collect(part?.as === 'condition' ? `{{ ${part.template} }}` : part?.template);
  return partTexts;
}
