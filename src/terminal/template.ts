/**
 * `--template TEXT`: a Liquid template, as in procedures, that is rendered for each row of a list or for the one result. It only reads
 * the data: no files, and no fields that do not exist.
 */
import { UsageError } from '../base/errors.ts';
import { isObject } from '../base/values.ts';
import { checkFields } from './fields.ts';

/** Tags that read files. */
const fileTags = ['include', 'render', 'layout', 'block'];

/**
 * One text for each item, each followed by a line feed.
 * @param knownFields fields that items can have, although none of these contains them
 * @throws UsageError `template_failed` for a template that is invalid or cannot be rendered, `unknown_field`
 */
export async function renderTemplate(
  items: readonly unknown[],
  template: string,
  knownFields: readonly string[] | undefined,
): Promise<string> {
  const { paths, render } = await parseTemplate(template);
  const scopes = items.map((item) => (isObject(item) ? item : { value: item }));
  checkFields(scopes, paths, knownFields);
  const lines: string[] = [];
  for (const scope of scopes) lines.push(`${await render(scope)}\n`);
  return lines.join('');
}

interface ParsedTemplate {
  /** The fields that it reads. */
  paths: string[];
  render(scope: object): Promise<string>;
}

/** @throws UsageError `template_failed`, also when it is rendered */
export async function parseTemplate(template: string): Promise<ParsedTemplate> {
  const [{ Liquid }, { templateErrorOf }] = await Promise.all([import('liquidjs'), import('../base/liquid.ts')]);
  const templateFailed = (error: unknown): UsageError => {
    const { message, position } = templateErrorOf(error as Error);
    return new UsageError(
      `--template, line ${position.line}, column ${position.column}: ${message}.`,
      "Write it in Liquid, with the fields that -o json prints: '{{ id }} {{ status | upcase }}'.",
      'template_failed',
    );
  };
  const engine = new Liquid({ strictFilters: true, ownPropertyOnly: true, templates: {}, outputEscape: textOf });
  for (const name of fileTags) delete engine.tags[name];
  try {
    const parsed = engine.parse(unescaped(template));
    const segments = await engine.globalVariableSegments(parsed);
    return {
      // A computed part, as in labels[key], ends the path.
      paths: segments.map((path) => withoutListParts(path.slice(0, lengthUntil(path, isComputed)).join('.'))),
      render: (scope) => engine.render(parsed, scope).then(String, (error: unknown) => Promise.reject(templateFailed(error))),
    };
  } catch (error) {
    throw templateFailed(error);
  }
}

/** The number of parts before the first one that is found. */
function lengthUntil(path: readonly unknown[], isEnd: (segment: unknown) => boolean): number {
  const end = path.findIndex(isEnd);
  return end < 0 ? path.length : end;
}

const isComputed = (segment: unknown): boolean => typeof segment !== 'string' || segment === '' || segment.includes('.');

/** The path up to a property of a list or text that Liquid itself provides. */
const withoutListParts = (path: string): string => path.replace(/\.(?:first|last|size)(?:\..*)?$/, '');

/** `\t`, `\n` and `\\`, which a shell passes on unchanged. */
const unescaped = (template: string): string =>
  template.replace(/\\([nt\\])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter === 't' ? '\t' : '\\'));

/** A value as text: an empty text for null, and JSON for an object or a list of objects. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && !value.some((item) => typeof item === 'object')) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
