/** Checks the templates and conditions of a procedure: their syntax, and that the variables that they read exist when their step runs. */

import { type Reference, TemplateError, templateReferences } from '../../../base/liquid.ts';
import type { Finding } from '../document/findings.ts';
import { oneOf, suggestion } from '../document/problems.ts';
import type { Path } from '../document/source.ts';
import { conditionKey, maxOutputs, type Step } from './schema.ts';
import { checkCommand } from './shell.ts';
import { conditionReferences } from './template.ts';

/** A finding in a text; `line` counts from 0 within the text. Its path is below the step, not below the payload. */
export interface TextFinding extends Finding {
  line: number;
}

const roots: Record<string, readonly string[] | undefined> = {
  message: undefined,
  messages: undefined,
  answers: [],
  steps: [],
  memory: undefined,
  run: ['id', 'number'],
  agent: ['name'],
  case: ['id', 'title', 'data', 'queue', 'priority', 'labels', 'tags', 'created_at'],
};

/**
 * Findings of all steps, by step. The steps are those with the right structure. References to `otherIds`, the IDs of all other steps,
 * are not reported, because those steps have problems of their own.
 */
export function checkTexts(steps: readonly Step[], otherIds: ReadonlySet<string>): Map<Step, TextFinding[]> {
  const ids = { answers: [] as string[], steps: [] as string[] };
  const textFindings = new Map<Step, TextFinding[]>();
  let outputs = 0;
  for (const step of steps) {
    const findings: TextFinding[] = [];
    const check = (path: Path, text: string, read: (text: string) => Reference[]): void => {
      try {
        const count = text.split(/\{[{%]/).length - 1;
        outputs += count;
        requireReadable(count, outputs);
        for (const reference of read(text)) {
          const message = otherIds.has(reference.path[1] ?? '') ? undefined : unknownReference(reference, ids, steps);
          if (message !== undefined) findings.push({ message, path, line: reference.line - 1 });
        }
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        findings.push({ message: error.message, path, line: error.position.line - 1 });
      }
    };
    if (step.condition !== undefined) check([conditionKey], step.condition, conditionReferences);
    const [before, after] = textsOf(step);
    for (const { path, text } of before) check([step.kind, ...path], text, step.kind === 'exec' ? commandReferences : templateReferences);
    // What follows an approval can read its answer.
    const id = idOf(step);
    if (id !== undefined && isAnswered(step)) ids.answers.push(id);
    if (id !== undefined && step.kind !== 'ask') ids.steps.push(id);
    for (const { path, text } of after) check([step.kind, ...path], text, templateReferences);
    if (findings.length > 0) textFindings.set(step, findings);
  }
  return textFindings;
}

/** Throws a TemplateError when a template, or all of them up to it, have too many outputs and tags. */
function requireReadable(count: number, total: number): void {
  if (count > maxOutputs.template) throw new TemplateError(`a template can have at most ${maxOutputs.template} outputs and tags`);
  if (total > maxOutputs.procedure)
    throw new TemplateError(`the templates of a procedure can have at most ${maxOutputs.procedure} outputs and tags`);
}

export const idOf = (step: Step): string | undefined =>
  typeof step.payload === 'object' && 'id' in step.payload ? step.payload.id : undefined;
export const isAnswered = (step: Step): boolean => step.kind === 'ask' || step.kind === 'approve';

function commandReferences(text: string): Reference[] {
  const references = templateReferences(text);
  checkCommand(text);
  return references;
}

type DefinedIds = { answers: readonly string[]; steps: readonly string[] };

function unknownReference({ path }: Reference, ids: DefinedIds, steps: readonly Step[]): string | undefined {
  const [root, name] = path as [string, string | undefined];
  if (!Object.hasOwn(roots, root)) return `\`${root}\` is unknown; ${suggestion(root, Object.keys(roots))}`;
  if (name === undefined || roots[root] === undefined) return undefined;
  if (root !== 'answers' && root !== 'steps')
    return roots[root].includes(name) ? undefined : `\`${root}\` has no \`${name}\`; it has ${oneOf(roots[root])}`;
  if (ids[root].includes(name)) return undefined;
  const owner = steps.find((step) => idOf(step) === name);
  if (!owner) return `\`${root}.${name}\` is unknown: no earlier step has that ID; ${suggestion(name, ids[root])}`;
  if (!(root === 'answers' ? isAnswered(owner) : owner.kind !== 'ask')) {
    return `\`${root}.${name}\` is unknown; the result of the ${owner.kind} step is in \`${root === 'answers' ? 'steps' : 'answers'}.${name}\``;
  }
  return `\`${root}.${name}\` is not available yet: the step \`${name}\` comes later (line ${owner.line})`;
}

interface TextAt {
  /** Below the payload. */
  path: Path;
  text: string;
}

/** The texts of a step that are templates: those that are used before its result is known, and those that are used after. */
function textsOf(step: Step): [TextAt[], TextAt[]] {
  switch (step.kind) {
    case 'tool': {
      const { connection, name, error } = step.payload;
      return [textsIn({ connection, name, error, arguments: step.payload.arguments, result: step.payload.result }), []];
    }
    case 'exec':
      return [[{ path: ['run'], text: step.payload.run }], []];
    case 'ask':
      return [textsIn({ title: step.payload.title, questions: step.payload.questions }), []];
    case 'approve': {
      const { title, description, on_deny } = step.payload;
      return [textsIn({ title, description }), typeof on_deny === 'object' ? textsIn({ on_deny }) : []];
    }
    case 'screenshot': {
      const { path, action, title, url } = step.payload;
      return [textsIn({ path, action, title, url }), []];
    }
    case 'browse':
      return [textsIn({ url: step.payload.url, actions: step.payload.actions }), []];
    case 'sleep':
      return [[], []];
    case 'postpone_case':
      return [textsIn({ until: step.payload.until, reason: step.payload.reason }), []];
    default:
      return [textsIn(step.payload), []];
  }
}

function textsIn(value: unknown, path: Path = []): TextAt[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((item, index) => textsIn(item, [...path, index]));
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, [...path, key]));
}
