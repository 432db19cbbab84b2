/**
 * Templates in Liquid: of procedures, and of messages for many runs. They can only read the data that they get: no files, no inherited
 * properties, no tags that read or count outside the template. An unknown variable is an error, not an empty text.
 */
import { type Expression, Liquid, LiquidError, type Template, TypeGuards, toValueSync, Value } from 'liquidjs';
import { countLinesOnce } from './liquid-positions.ts';
import { firstLine } from './values.ts';

/** A place in a template, counted from 1. */
export interface TemplatePosition {
  line: number;
  column: number;
}

/** A template or condition is invalid or cannot be rendered. The position is relative to the template. */
export class TemplateError extends Error {
  readonly position: TemplatePosition;
  constructor(message: string, position: TemplatePosition = { line: 1, column: 1 }) {
    super(message);
    this.name = 'TemplateError';
    this.position = position;
  }
}

countLinesOnce();

const tags = new Set(['assign', 'break', 'case', 'comment', 'continue', 'for', 'if', 'raw', 'unless', '#']);

/** Limits: the characters of a template, and the milliseconds and characters of a rendering. */
const limits = { parseLimit: 1024 * 1024, renderLimit: 1_000, memoryLimit: 10_000_000 };

/** A Liquid engine that passes every output through `write`, except outputs that end with `| raw`. */
export function createEngine(write: (value: unknown) => string): Liquid {
  const engine = new Liquid({
    ...limits,
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    outputEscape: write,
    templates: {},
  });
  // A raw output still has to be a text.
  engine.registerFilter('raw', { raw: true, handler: textOf });
  for (const name of Object.keys(engine.tags)) if (!tags.has(name)) delete engine.tags[name];
  return engine;
}

/** A value as text: lists joined with commas, mappings as JSON, an empty text for nil. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export const engine = createEngine(textOf);

/** Renders a text. Throws a TemplateError. */
export const render = (template: string, scope: object): string =>
  isPlain(template) ? template : withTemplateErrors(() => String(engine.parseAndRenderSync(template, scope)));

/** Whether a template has neither outputs nor tags, so that it does not have to be parsed. */
const isPlain = (template: string): boolean => !template.includes('{{') && !template.includes('{%') && template.length <= limits.parseLimit;

/** A variable that a template reads: its path up to the first computed part, with its position within the template. */
export interface Reference extends TemplatePosition {
  path: string[];
}

/** Checks the syntax of a template and returns the variables that it reads. Throws a TemplateError. */
export function templateReferences(template: string): Reference[] {
  return withTemplateErrors(() => {
    const references: Reference[] = [];
    const templates = engine.parse(template);
    checkExpressions(templates);
    for (const variables of Object.values(engine.analyzeSync(templates).globals)) {
      for (const { segments, location } of variables) {
        // A computed part, as in answers[message], ends the path.
        const end = segments.findIndex((segment) => typeof segment !== 'string');
        references.push({ path: (end < 0 ? segments : segments.slice(0, end)).map(String), line: location.row, column: location.col });
      }
    }
    return references;
  });
}

/** Rejects expressions such as `a b` and `a == == b`, which Liquid accepts and evaluates unexpectedly. Throws a TemplateError. */
function checkExpressions(templates: readonly Template[]): void {
  for (const template of templates) {
    for (const argument of template.arguments?.() ?? []) if (argument instanceof Value) checkExpression(argument.initial);
    if (template.children !== undefined) checkExpressions(toValueSync(template.children(false, true)) as Template[]);
  }
}

function checkExpression({ postfix }: Expression): void {
  let wantsValue = true;
  for (const token of postfix.toSorted((a, b) => a.begin - b.begin)) {
    const text = token.getText();
    const templateError = (message: string): TemplateError => {
      const [line, column] = token.getPosition() as [number, number];
      return new TemplateError(message, { line, column });
    };
    const isOperator = TypeGuards.isOperatorToken(token);
    const isNot = isOperator && token.operator === 'not';
    if (isOperator && !isNot) {
      if (wantsValue) throw templateError(`a value is missing before \`${text}\``);
      wantsValue = true;
    } else {
      if (!wantsValue) throw templateError(`\`${text}\` appears where an operator is expected, such as ==, and, or contains`);
      if (TypeGuards.isQuotedToken(token) && !(text.length > 1 && text.endsWith(text.charAt(0))))
        throw templateError(`the text ${text} has no closing quote`);
      wantsValue = isNot;
    }
  }
  if (wantsValue) throw new TemplateError('the expression ends where a value is expected');
}

/** Calls Liquid and turns its errors into a TemplateError. */
export function withTemplateErrors<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof Error ? templateErrorOf(error) : error;
  }
}

/** An error of the library, which names the position in its message. */
export function templateErrorOf(error: Error): TemplateError {
  if (error instanceof TemplateError) return error;
  const place = /, line:(\d+), col:(\d+)$/.exec(firstLine(error.message));
  const position = place ? { line: Number(place[1]), column: Number(place[2]) } : undefined;
  const message = LiquidError.is(error) ? firstLine(error.message).replace(/, line:\d+, col:\d+$/, '') : error.message;
  return new TemplateError(message, position);
}
