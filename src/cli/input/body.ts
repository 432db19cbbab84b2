/**
 * Request bodies from the command line, as in gh: `-f key=value` (text), `-F key=value` (typed; `@file` reads a file),
 * `a[b]=` nests, `a[]=` appends, and `--input FILE|-` reads a complete JSON body.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { shellQuoted } from '../../base/shell.ts';
import type { Check } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import { text, texts } from '../kit/flags.ts';

export const bodyFlags = {
  rawField: texts('KEY=VALUE', 'Add a text field to the body', { short: 'f' }),
  field: texts('KEY=VALUE', 'Add a typed field: true, false, null, a number, @FILE, or text', { short: 'F' }),
  input: text('FILE|-', 'Use a JSON file as the body', { complete: 'files' }),
} as const;

export interface BodyInput {
  rawField: string[];
  field: string[];
  input: string | undefined;
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The text of a file, or of standard input for `-`. @throws UsageError when it cannot be read or is not UTF-8 */
export async function readText(context: Context, file: string): Promise<string> {
  return decodeText(await readBytes(context, file), file);
}

/**
 * Decodes UTF-8, without a byte order mark. Anything else is rejected: lenient decoding would replace every invalid byte with
 * U+FFFD, and the original could not be recovered.
 * @param file the source of the bytes; `-` is standard input
 * @throws UsageError when they are not UTF-8
 */
export function decodeText(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const [name, operand] = file === '-' ? ['Standard input', ''] : [file, ` ${shellQuoted(file)}`];
    const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    throw new UsageError(`${name} is not UTF-8.`, `Convert it: iconv -f ${isUtf16 ? 'UTF-16' : 'WINDOWS-1252'} -t UTF-8${operand}`);
  }
}

export async function readBytes(context: Context, file: string): Promise<Buffer> {
  if (file === '-') return context.readStandardInput();
  try {
    return await readFile(path.resolve(context.cwd, file));
  } catch (error) {
    throw new UsageError(fileProblem(file, error as NodeJS.ErrnoException));
  }
}

/**
 * A text from the command line, or by reference: `-` is standard input, `@FILE` a file, `@@...` a text that starts with `@`.
 * @param check applied to the text, wherever it comes from
 * @throws UsageError when it cannot be read
 */
export async function readContent(context: Context, value: string, check?: Check, name = ''): Promise<string> {
  const content = await contentOf(context, value);
  return check ? check(content, name) : content;
}

async function contentOf(context: Context, value: string): Promise<string> {
  if (value === '-') return readText(context, '-');
  if (value.startsWith('@@')) return value.slice(1);
  if (!value.startsWith('@')) return value;
  const file = value.slice(1);
  const bytes = await readBytes(context, file).catch((error: unknown) => {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message, `${value} refers to a file. For a text that starts with @, write @${value}.`);
  });
  return decodeText(bytes, file);
}

/** A sentence about a file that could not be used. */
export function fileProblem(file: string, error: NodeJS.ErrnoException): string {
  const reasons: Record<string, string> = { ENOENT: 'there is no such file', EISDIR: 'it is a directory', EACCES: 'permission denied' };
  return `${file} cannot be read: ${reasons[error.code ?? ''] ?? error.message}.`;
}

/**
 * The body that the flags describe, or undefined without such flags. Fields are added to the object from `--input`.
 * @param defaultBody the body without `--input`, to which fields are added
 * @throws UsageError for invalid flags
 */
export async function bodyFromFlags(context: Context, input: BodyInput, defaultBody?: object): Promise<Json | undefined> {
  const wholeBody =
    input.input === undefined
      ? (structuredClone(defaultBody) as Json | undefined)
      : parseJson(await readText(context, input.input), input.input);
  const fields: [string, Json][] = [];
  for (const field of input.rawField) fields.push(split(field, '-f'));
  for (const field of input.field) {
    const [key, value] = split(field, '-F');
    fields.push([key, await fieldValue(context, value as string)]);
  }
  if (fields.length === 0) return wholeBody;
  const body = wholeBody ?? {};
  if (!isObject(body)) throw new UsageError('Fields can only be added to a JSON object, and the body from --input is not one.');
  for (const [key, value] of fields) assign(body, keyPath(key), value, key);
  return body;
}

/** @throws UsageError naming the file, when its text is not JSON */
export function parseJson(content: string, file: string): Json {
  try {
    return JSON.parse(content) as Json;
  } catch (error) {
    throw new UsageError(`${file === '-' ? 'Standard input' : file} is not valid JSON: ${(error as Error).message}`);
  }
}

function split(field: string, name: string): [string, Json] {
  const separator = field.indexOf('=');
  if (separator > 0) return [field.slice(0, separator), field.slice(separator + 1)];
  // gh: `a[]` alone is an empty list.
  if (separator === -1 && field.endsWith('[]')) return [field.slice(0, -2), []];
  throw new UsageError(`${name} must be KEY=VALUE, not "${field}".`);
}

async function fieldValue(context: Context, value: Json): Promise<Json> {
  if (typeof value !== 'string') return value;
  if (value === 'true' || value === 'false' || value === 'null') return JSON.parse(value) as Json;
  if (/^-?(0|[1-9]\d{0,14})$/.test(value)) return Number(value);
  return value.startsWith('@') ? readText(context, value.slice(1)) : value;
}

/** `a[b][]` -> ['a', 'b', ''] */
function keyPath(key: string): string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(key);
  if (!match) throw new UsageError(`"${key}" is not a valid key.`, 'Use a[b] for nested fields and a[] to append to a list.');
  return [match[1] as string, ...[...(match[2] as string).matchAll(/\[([^[\]]*)\]/g)].map(([, name]) => name as string)];
}

function assign(target: { [key: string]: Json }, parts: string[], value: Json, key: string): void {
  const [name, ...rest] = parts as [string, ...string[]];
  if (name === '__proto__') throw new UsageError(`"${key}" is not a valid key.`);
  if (rest.length === 0) {
    target[name] = value;
  } else if (rest[0] === '') {
    const list = (Object.hasOwn(target, name) ? target[name] : []) as Json;
    if (!Array.isArray(list)) throw new UsageError(`"${key}": ${name} is not a list.`);
    target[name] = list;
    append(list, rest.slice(1), value, key);
  } else {
    const child = (Object.hasOwn(target, name) ? target[name] : {}) as Json;
    if (!isObject(child)) throw new UsageError(`"${key}": ${name} is not an object.`);
    target[name] = child;
    assign(child, rest, value, key);
  }
}

/** `a[][b]=` continues the last object until a key would be set twice, as in gh. */
function append(list: Json[], rest: string[], value: Json, key: string): void {
  if (rest.length === 0) {
    list.push(value);
    return;
  }
  const lastItem = list.at(-1);
  const open = isObject(lastItem) && !(rest.length === 1 && Object.hasOwn(lastItem, rest[0] as string)) ? lastItem : {};
  if (open !== lastItem) list.push(open);
  assign(open, rest, value, key);
}

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
