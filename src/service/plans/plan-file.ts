/** Reads plans from files (YAML or JSON). Whatever a file leaves out is as in the default plan. */

import { parseDocument } from 'yaml';
import { UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { isObject } from '../../base/values.ts';
import { wordList } from '../../base/word-list.ts';
import { defaultPlan, type Limit, type Plan, type RunCountingMode, runCountingModes } from '../store/access/plan.ts';

type Map = Record<string, unknown>;

const limitNames = Object.keys(defaultPlan.limits) as (keyof Plan['limits'])[];
const keys = Object.keys(defaultPlan);

/**
 * Reads the text of a plan file.
 * @param file its name, for messages
 * @throws UsageError `invalid_plan` that lists every problem
 */
export function parsePlan(text: string, file: string): Plan {
  const document = parseDocument(text, { prettyErrors: true });
  const [firstError] = document.errors;
  if (firstError !== undefined) throw invalid(file, [firstError.message.split('\n')[0] as string]);
  const problems: string[] = [];
  const entries = map(document.toJS() ?? {}, 'The file', problems);
  refuseUnknown(entries, keys, '', problems);
  const limits = map(entries.limits ?? {}, 'limits', problems);
  refuseUnknown(limits, limitNames, 'limits.', problems);
  const plan: Plan = {
    name: word(entries.name, 'name', problems) ?? defaultPlan.name,
    limits: Object.fromEntries(
      limitNames.map((name) => [name, limit(limits[name], `limits.${name}`, problems) ?? defaultPlan.limits[name]]),
    ) as Plan['limits'],
    maxConcurrentRuns: wholeNumber(entries.maxConcurrentRuns, problems) ?? defaultPlan.maxConcurrentRuns,
    runCountingMode: mode(entries.runCountingMode, problems) ?? defaultPlan.runCountingMode,
    features: words(entries.features, 'features', problems) ?? defaultPlan.features,
    products: words(entries.products, 'products', problems) ?? defaultPlan.products,
  };
  if (problems.length > 0) throw invalid(file, problems);
  return plan;
}

const invalid = (file: string, problems: readonly string[]): UsageError =>
  new UsageError(
    `${file} is not a valid plan: ${problems.map((problem) => problem.replace(/[.:]$/, '')).join('; ')}.`,
    'See "Plans" in docs/billing.md for what a plan can contain.',
    'invalid_plan',
  );

function map(value: unknown, name: string, problems: string[]): Map {
  if (isObject(value)) return value;
  problems.push(`${name} must be a map`);
  return {};
}

function refuseUnknown(entries: Map, allowedKeys: readonly string[], prefix: string, problems: string[]): void {
  for (const key of Object.keys(entries)) {
    if (allowedKeys.includes(key)) continue;
    const suggestion = nearest(key, allowedKeys);
    const advice = suggestion === undefined ? `use one of: ${allowedKeys.join(', ')}` : `did you mean "${suggestion}"`;
    problems.push(`"${prefix}${key}" is not a known field; ${advice}`);
  }
}

function limit(value: unknown, name: string, problems: string[]): Limit | undefined {
  if (value === undefined || value === 'unlimited') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  problems.push(`${name} must be a whole number, 0 or more, or "unlimited", not ${JSON.stringify(value)}`);
  return undefined;
}

function wholeNumber(value: unknown, problems: string[]): number | undefined {
  if (value === undefined || (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 10_000)) return value;
  problems.push(`maxConcurrentRuns must be a whole number from 1 to 10000, not ${JSON.stringify(value)}`);
  return undefined;
}

function mode(value: unknown, problems: string[]): RunCountingMode | undefined {
  if (value === undefined || runCountingModes.includes(value as RunCountingMode)) return value as RunCountingMode | undefined;
  problems.push(`runCountingMode must be ${wordList(runCountingModes, 'or')}, not ${JSON.stringify(value)}`);
  return undefined;
}

function word(value: unknown, name: string, problems: string[]): string | undefined {
  if (value === undefined || (typeof value === 'string' && value.trim() !== '' && value.length <= 100)) return value;
  problems.push(`${name} must be text of 1 to 100 characters, not ${JSON.stringify(value)}`);
  return undefined;
}

function words(value: unknown, name: string, problems: string[]): string[] | undefined {
  if (value === undefined || (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== ''))) return value;
  problems.push(`${name} must be a list of words`);
  return undefined;
}
