/**
 * Templates of shell commands. Template output never becomes part of the command's text: it is assigned to a shell variable in
 * front of the command, single-quoted, and the command refers to the variable. So no text can become a command, wherever the
 * output is. Its place only decides how the variable is written; places where a shell would not expand it, or would execute it,
 * are refused.
 */
import { Output } from 'liquidjs';
import { createEngine, TemplateError, textOf, withTemplateErrors } from '../../../base/liquid.ts';
import type { Scope } from './template.ts';

export interface Command {
  /** The command for /bin/sh. */
  text: string;
  /** The command as it is shown to people, with the values in it. */
  display: string;
}

// NUL cannot occur in a command, so it marks outputs.
const mark = (index: number): string => `\0${index}\0`;
const marks = /\0(\d+)\0/g;
const variable = (index: number): string => `aops_value_${index + 1}`;

/** `text` as one word for a POSIX shell. */
export const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** Renders a command. Throws a TemplateError, also when an output is in an unsafe place. */
export function renderCommand(template: string, scope: Scope): Command {
  const values: string[] = [];
  const engine = createEngine((value) => mark(values.push(textOf(value)) - 1));
  const markedText = withTemplateErrors(() => String(engine.parseAndRenderSync(template, scope)));
  const places = placesOf(markedText);
  const usedIndexes = new Set<number>();
  const text = markedText.replace(marks, (_, digits: string) => {
    const index = Number(digits);
    const place = places.get(index);
    if (place === undefined || place.refusalReason !== undefined) throw placementError(place?.refusalReason ?? 'in an unclear place');
    usedIndexes.add(index);
    return place.isQuoted ? `\${${variable(index)}}` : `"\${${variable(index)}}"`;
  });
  const assignments = values.map((value, index) => (usedIndexes.has(index) ? `${variable(index)}=${quote(value) || "''"}; ` : ''));
  return {
    text: assignments.join('') + text,
    display: markedText.replace(marks, (_, digits: string) => quote(values[Number(digits)] ?? '')),
  };
}

/** Throws a TemplateError when an output of a command without tags is in an unsafe place; with tags, only the run can tell. */
export function checkCommand(template: string): void {
  const templates = withTemplateErrors(() => createEngine(textOf).parse(template));
  let outputs = 0;
  let text = '';
  for (const part of templates) {
    if (part instanceof Output) text += /\|\s*raw\s*-?\}\}$/.test(part.token.getText()) ? 'x' : mark(outputs++);
    else if ('str' in part) text += String(part.str);
    else return;
  }
  for (const place of placesOf(text).values()) if (place.refusalReason !== undefined) throw placementError(place.refusalReason);
}

const placementError = (location: string): TemplateError =>
  new TemplateError(
    `an output is ${location}; outputs are quoted for the shell automatically, so write it outside, as a separate word or inside double quotes`,
  );

interface Place {
  /** Inside double quotes. */
  isQuoted: boolean;
  /** Why an output is not allowed here. */
  refusalReason?: string;
}

type Context = 'plain' | 'group' | 'double' | 'backquote' | 'parameter' | 'arithmetic';

/**
 * The shell context of each mark. Understands quotes, substitutions, comments, and here-documents, not the whole grammar:
 * a mistake can cause a value to be split into words, but not to be executed.
 */
function placesOf(text: string): Map<number, Place> {
  const places = new Map<number, Place>();
  const stack: Context[] = ['plain'];
  let generalRefusal: string | undefined;
  for (let i = 0; i < text.length; i++) {
    const context = stack.at(-1) as Context;
    const inDouble = context === 'double';
    const character = text[i] as string;
    const next = text[i + 1];
    if (character === '\0') {
      const end = text.indexOf('\0', i + 1);
      // Not one of our marks; a command with a NUL is refused when it is executed.
      if (end < 0) break;
      places.set(Number(text.slice(i + 1, end)), { isQuoted: inDouble, ...refusal(generalRefusal ?? refusalIn(stack)) });
      i = end;
    } else if (character === '\\') {
      if (next === '\0') generalRefusal ??= 'after a backslash';
      else i++;
    } else if (character === '$' && next === '(') {
      const arithmetic = text[i + 2] === '(';
      stack.push(arithmetic ? 'arithmetic' : 'group');
      i += arithmetic ? 2 : 1;
    } else if (character === '$' && next === '{') {
      stack.push('parameter');
      i++;
    } else if (character === '`') {
      if (context === 'backquote') stack.pop();
      else stack.push('backquote');
    } else if (character === '"') {
      if (inDouble) stack.pop();
      else stack.push('double');
    } else if (inDouble) {
      // Nothing else is special here.
    } else if (character === "'") {
      if (text[i - 1] === '$') generalRefusal ??= "after $'";
      const end = text.indexOf("'", i + 1);
      const stop = end < 0 ? text.length : end;
      for (const match of text.slice(i, stop).matchAll(marks))
        places.set(Number(match[1]), { isQuoted: false, refusalReason: 'inside single quotes' });
      i = stop;
    } else if (character === '#' && (i === 0 || /[\s;|&(]/.test(text[i - 1] as string))) {
      const end = text.indexOf('\n', i);
      const stop = end < 0 ? text.length : end;
      for (const match of text.slice(i, stop).matchAll(marks)) places.set(Number(match[1]), { isQuoted: false });
      i = stop - 1;
    } else if (character === '<' && next === '<') generalRefusal ??= 'after a here-document (<<)';
    else if (character === '(') stack.push(context === 'arithmetic' ? 'arithmetic' : 'group');
    else if (character === ')' && context === 'group') stack.pop();
    else if (character === ')' && context === 'arithmetic') {
      stack.pop();
      if (next === ')' && stack.at(-1) !== 'arithmetic') i++;
    } else if (character === '}' && context === 'parameter') stack.pop();
  }
  return places;
}

const refusal = (reason: string | undefined): { refusalReason?: string } => (reason === undefined ? {} : { refusalReason: reason });

function refusalIn(stack: readonly Context[]): string | undefined {
  if (stack.includes('backquote')) return 'inside backquotes; use $( ) instead';
  if (stack.includes('arithmetic')) return 'inside $(( ))';
  return stack.includes('parameter') ? 'inside a parameter in braces' : undefined;
}
