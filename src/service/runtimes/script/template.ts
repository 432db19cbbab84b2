/** Templates and conditions of a procedure. They can only read the run's data. */
import { Output } from 'liquidjs';
import { engine, type Reference, render, TemplateError, templateReferences, withTemplateErrors } from '../../../base/liquid.ts';

/** The data that templates can read. */
export interface Scope {
  message: string;
  messages: readonly string[];
  answers: Record<string, unknown>;
  steps: Record<string, unknown>;
  run: { id: string; number: number };
  agent: { name: string };
  /** Memory files by path; null for a missing one. */
  memory: Record<string, string | null>;
  /** Null for a run without a case. */
  case: CaseScope | null;
}

/** A case as templates see it. */
export interface CaseScope {
  id: string;
  title: string;
  /** A mapping or list if the data is JSON of one, otherwise the text. */
  data: unknown;
  queue: string;
  priority: string;
  /** By key; a list if the case has several labels with that key. */
  labels: Record<string, string | string[]>;
  /** Labels without a key. */
  tags: string[];
  created_at: string;
}

/** Renders every text in a value. A text that consists of a single output keeps the type of its value. */
export function renderDeep(value: unknown, scope: Scope): unknown {
  if (typeof value === 'string') {
    const expression = singleOutput(value);
    return expression === undefined
      ? render(value, scope)
      : withTemplateErrors(() => (engine.evalValueSync(expression, scope) as unknown) ?? null);
  }
  if (Array.isArray(value)) return value.map((item) => renderDeep(item, scope));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renderDeep(item, scope)]));
}

/** Renders every text in a value; every text stays a text. */
export function renderTexts<T>(value: T, scope: Scope): T {
  if (typeof value === 'string') return render(value, scope) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => renderTexts(item, scope)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renderTexts(item as unknown, scope)])) as T;
}

/** Whether a condition is true: everything except false and nil is. Throws a TemplateError. */
export function holds(condition: string, scope: Scope): boolean {
  const value = withTemplateErrors(() => engine.evalValueSync(condition, scope) as unknown);
  return value !== false && value !== null && value !== undefined;
}

/** Like templateReferences, for a condition. */
export function conditionReferences(condition: string): Reference[] {
  if (/%\}|\{\{|\{%/.test(condition))
    throw new TemplateError('write conditions without braces, such as: answers.pay and steps.count.exit_code == 0');
  // Liquid reads a missing right side as nil.
  if (/(?:[=!<>]=|[<>]|\b(?:and|or|not|contains))\s*$/.test(condition))
    throw new TemplateError('the condition ends where a value is expected');
  try {
    return templateReferences(`{% if ${condition} %}{% endif %}`).map((reference) => ({ ...reference, line: 1, column: 1 }));
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    // Liquid's messages about =, &&, (, and the like.
    const hint = /^expected|^invalid/.test(error.message) ? `; conditions can use ${operators}, but no parentheses` : '';
    throw new TemplateError(error.message + hint);
  }
}

const operators = '== != < > <= >= contains and or not';

function singleOutput(template: string): string | undefined {
  if (!template.startsWith('{{') || !template.endsWith('}}')) return undefined;
  const templates = withTemplateErrors(() => engine.parse(template));
  return templates.length === 1 && templates[0] instanceof Output ? template.replace(/^\{\{-?|-?\}\}$/g, '') : undefined;
}
