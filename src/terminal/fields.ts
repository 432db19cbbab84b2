/** `--fields a,b.c`: selects parts of a result by dot paths, which also apply to the elements of lists. */
import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { isObject } from '../base/values.ts';

/** The paths of a `--fields` value. @throws UsageError when a path is empty. */
export function parseFields(text: string): string[] {
  const paths = text.split(',').map((path) => path.trim());
  if (paths.some((path) => path === '' || path.split('.').includes(''))) {
    throw new UsageError('--fields expects field names separated by commas.', 'Write it like --fields id,status,agent.name.');
  }
  return [...new Set(paths)];
}

/**
 * The same structure reduced to `paths`. A field that an object lacks becomes null.
 * @throws nothing; see `checkFields`.
 */
export function selectFields(value: unknown, paths: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => selectFields(item, paths));
  if (!isObject(value)) return value;
  const groups = new Map<string, string[]>();
  for (const path of paths) {
    // An empty rest means the whole value.
    const [head, rest = ''] = splitPath(path);
    groups.set(head, [...(groups.get(head) ?? []), rest]);
  }
  return Object.fromEntries(
    [...groups].map(([head, rest]) => {
      const child = Object.hasOwn(value, head) ? value[head] : null;
      return [head, rest.includes('') ? child : selectFields(child, rest)];
    }),
  );
}

/** The value at a path; for a list, one value per element. */
export function valueAt(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item) => valueAt(item, path));
  const [head, rest] = splitPath(path);
  const child = isObject(value) && Object.hasOwn(value, head) ? value[head] : undefined;
  return rest === undefined ? child : valueAt(child, rest);
}

/**
 * Checks the paths against the data: a path must exist in at least one of `items`, or end at a null or an empty list,
 * below which any field is possible. Without items every path is accepted, unless `knownFields` lists all fields.
 * @throws UsageError `unknown_field` that lists the available fields.
 */
export function checkFields(items: readonly unknown[], paths: readonly string[], knownFields: readonly string[] = []): void {
  const available = [...new Set([...knownFields, ...items.flatMap((item) => (isObject(item) ? Object.keys(item) : []))])].sort();
  if (available.length === 0) return;
  for (const path of paths) {
    const ends = new Set(items.map((item) => follow(item, path)));
    if (ends.has('found')) continue;
    const mayExist = ends.has('open') || knownFields.includes(splitPath(path)[0]);
    if (mayExist && !ends.has('missing inside')) continue;
    throw unknownField(path, available);
  }
}

/** The error for a field that a result does not have. @param names the fields that it has */
export function unknownField(path: string, names: readonly string[]): UsageError {
  const member = memberOf(path);
  const similar = names.includes(member) ? undefined : nearest(member, names);
  const hint = `${similar === undefined ? '' : `Did you mean ${similar}? `}Fields: ${names.join(', ')}.`;
  return new UsageError(`The result has no field "${path}".`, hint, 'unknown_field');
}

/** The name of the member of the result that a path leads into. */
export const memberOf = (path: string): string => splitPath(path)[0];

type PathEnd = 'found' | 'open' | 'missing' | 'missing inside';

function follow(value: unknown, path: string): PathEnd {
  if (value === null) return 'open';
  if (Array.isArray(value)) {
    const ends = value.map((item) => follow(item, path));
    return ends.find((end) => end === 'found') ?? ends[0] ?? 'open';
  }
  const [head, rest] = splitPath(path);
  if (!isObject(value) || !Object.hasOwn(value, head)) return 'missing';
  if (rest === undefined) return 'found';
  const end = follow(value[head], rest);
  return end === 'missing' ? 'missing inside' : end;
}

function splitPath(path: string): [head: string, rest: string | undefined] {
  const dot = path.indexOf('.');
  return dot < 0 ? [path, undefined] : [path.slice(0, dot), path.slice(dot + 1)];
}
