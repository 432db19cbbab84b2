/** Parses the text of a procedure into its steps, or into the list of all its problems. */
import { BoundedCache } from '../../../base/bounded-cache.ts';
import { isObject } from '../../../base/values.ts';
import { type Finding, structureCheck } from '../document/findings.ts';
import { invalidProcedure, oneOf, type Problem, suggestion } from '../document/problems.ts';
import { type Path, readSource, type Source } from '../document/source.ts';
import { checkTexts, idOf } from './references.ts';
import { checkRules } from './rules.ts';
import {
  conditionKey,
  maxProcedureBytes,
  maxSteps,
  type Procedure,
  procedureKeys,
  type Step,
  type StepKind,
  stepKinds,
  stepSchemas,
} from './schema.ts';

/**
 * Parses a procedure. Throws a ServiceError 400 `invalid_procedure` whose details contain every problem with its line and column, in
 * the order of the text; the first line of its message is the first problem.
 */
export function parseProcedure(text: string): Procedure {
  if (Buffer.byteLength(text) > maxProcedureBytes) {
    throw invalidProcedure([{ message: `the procedure is longer than ${maxProcedureBytes} bytes`, line: 1, column: 1 }]);
  }
  const source = readSource(text);
  if (source.problems.length > 0) throw invalidProcedure(source.problems);
  const problems: Problem[] = [];
  const reportedKeys = new Set<string>();
  const report: Report = (finding, line = 0) => {
    const position = finding.onKey ? { ...source.keyAt(finding.path), block: false, literal: false } : source.locate(finding.path);
    // A block text begins on the line below its | or >. Only the lines of a | match lines of the document: others are folded or escaped.
    const lineOffset = (position.block ? 1 : 0) + (position.literal ? line : 0);
    const problem = { message: finding.message, line: position.line + lineOffset, column: lineOffset > 0 ? 1 : position.column };
    // A problem that an alias repeats is reported once.
    const key = JSON.stringify(problem);
    if (!reportedKeys.has(key)) problems.push(problem);
    reportedKeys.add(key);
  };
  const otherIds = new Set<string>();
  const steps = readTop(source, report).flatMap((value, index) => {
    const step = readStep(value, index, source, report);
    if (!step) for (const id of idsIn(value)) otherIds.add(id);
    return step ?? [];
  });
  checkIds(steps, report);
  for (const [step, findings] of checkTexts(steps, otherIds)) {
    for (const finding of findings) report({ ...finding, path: pathIn(step, finding.path) }, finding.line);
  }
  if (problems.length > 0) throw invalidProcedure(problems);
  return { steps };
}

/** The maximum length of the texts of all cached procedures together, in characters. */
const maxCached = 4_000_000;
/** Recently parsed procedures by their text. */
const cache = new BoundedCache<Procedure>(maxCached, (text) => text.length);

/** The same, cached, for procedures that are executed: every pass of every run needs them. Callers must not change the result. */
export function readProcedure(text: string): Procedure {
  const cachedProcedure = cache.get(text);
  if (cachedProcedure !== undefined) return cachedProcedure;
  const procedure = parseProcedure(text);
  cache.set(text, procedure);
  return procedure;
}

type Report = (finding: Finding, line?: number) => void;

const pathIn = (step: Step, path: Path): Path => ['steps', step.number - 1, ...path];

function readTop({ value }: Source, report: Report): unknown[] {
  if (!isObject(value)) {
    report({ message: 'a procedure must be a YAML mapping with `version: 1` and `steps`', path: [] });
    return [];
  }
  for (const key of Object.keys(value)) {
    if (!procedureKeys.includes(key))
      report({ message: `unknown key \`${key}\`; ${suggestion(key, procedureKeys)}`, path: [key], onKey: true });
  }
  if (value.version === undefined) report({ message: '`version: 1` is missing', path: [] });
  else if (value.version !== 1) report({ message: '`version` must be 1', path: ['version'] });
  if (value.description !== undefined && typeof value.description !== 'string')
    report({ message: '`description` must be a text', path: ['description'] });
  const steps = value.steps;
  if (steps === undefined) report({ message: '`steps` is missing', path: [] });
  else if (!Array.isArray(steps)) report({ message: '`steps` must be a list; begin every step with "- "', path: ['steps'] });
  else if (steps.length === 0) report({ message: '`steps` is empty; a procedure needs at least one step', path: ['steps'] });
  else if (steps.length > maxSteps)
    report({ message: `there are ${steps.length} steps; at most ${maxSteps} are allowed`, path: ['steps', maxSteps] });
  else return steps;
  return [];
}

const payloadChecks = Object.fromEntries(
  stepKinds.map((kind) => [kind, structureCheck({ schema: stepSchemas[kind], label: `\`${kind}\`` })]),
) as Record<StepKind, (payload: unknown) => Finding[]>;

/** A step with the right structure, or undefined after its problems were reported. */
function readStep(value: unknown, index: number, source: Source, report: Report): Step | undefined {
  const path: Path = ['steps', index];
  if (!isObject(value)) {
    report({ message: 'a step must be a mapping, such as `say: Hello`', path });
    return undefined;
  }
  const keys = Object.keys(value);
  const kinds = keys.filter((key): key is StepKind => stepKinds.includes(key as StepKind));
  const [kind] = kinds;
  let isValid = kinds.length === 1;
  for (const key of keys) {
    if (kinds.includes(key as StepKind) || key === conditionKey) continue;
    isValid = false;
    const message = kind
      ? `unknown key \`${key}\` next to \`${kind}\`; ${suggestion(key, [conditionKey])}`
      : `unknown step \`${key}\`; ${suggestion(key, [...stepKinds, conditionKey])}`;
    report({ message, path: [...path, key], onKey: true });
  }
  if (kinds.length > 1)
    report({
      message: `a step can do only one thing; write ${kinds.map((word) => `\`${word}\``).join(' and ')} as separate steps`,
      path: [...path, kinds[1] as string],
      onKey: true,
    });
  else if (keys.every((key) => key === conditionKey)) report({ message: `this step does nothing; it needs ${oneOf(stepKinds)}`, path });
  const condition = readCondition(value[conditionKey], path, report);
  if (!kind) return undefined;

  const payload = value[kind];
  const findings = payloadChecks[kind](payload);
  const number = index + 1;
  // The payload has just been checked against the schema of its kind.
  const step = {
    kind,
    payload,
    number,
    key: `${number}-${kind}`,
    line: source.keyAt([...path, kind]).line,
    ...(condition === undefined ? {} : { condition }),
  } as Step;
  if (findings.length === 0) findings.push(...checkRules(step));
  for (const finding of findings) report({ ...finding, path: [...path, kind, ...finding.path] });
  return isValid && findings.length === 0 ? step : undefined;
}

function readCondition(value: unknown, path: Path, report: Report): string | undefined {
  if (value === undefined || typeof value === 'boolean') return value === undefined ? undefined : String(value);
  if (typeof value === 'string' && value.trim() !== '') return value;
  report({ message: '`if` must be a condition, such as: answers.pay and steps.count.exit_code == 0', path: [...path, conditionKey] });
  return undefined;
}

/** The IDs in a step of any structure. */
function idsIn(step: unknown): string[] {
  const payloads = isObject(step) ? Object.values(step).filter(isObject) : [];
  return payloads.flatMap((payload) => (typeof payload.id === 'string' ? [payload.id] : []));
}

function checkIds(steps: readonly Step[], report: Report): void {
  const first = new Map<string, Step>();
  for (const step of steps) {
    const id = idOf(step);
    if (id === undefined) continue;
    const earlierStep = first.get(id);
    if (earlierStep)
      report({
        message: `the ID \`${id}\` is already used by the step on line ${earlierStep.line}`,
        path: pathIn(step, [step.kind, 'id']),
      });
    else first.set(id, step);
  }
}
