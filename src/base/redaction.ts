/** Replaces the values of secrets in texts, so that they are neither stored nor shown. Pure. */
import { isObject } from './values.ts';

/** The shortest value that is replaced, in characters: shorter ones also occur by chance, and replacing them would destroy texts. */
export const minRedactedLength = 8;
/** The shortest line of a value with several lines that is replaced by itself. */
const minLineLength = 16;

export interface Redactor {
  /** The text with a marker such as `[secret API_KEY]` in place of each value. */
  text(text: string): string;
  /** A copy of a JSON value with markers in all of its strings. */
  value<T>(value: T): T;
}

/** Replaces nothing. */
export const noRedaction: Redactor = { text: (text) => text, value: (value) => value };

/**
 * Replaces values in the forms in which programs print them: unchanged, as JSON, URL-encoded, in Base64 (RFC 4648, also within a
 * longer encoded text), in hexadecimal digits, and the longer lines of a value with several lines.
 * @param secrets values by name; those that are too short are not replaced
 */
export function createRedactor(secrets: ReadonlyMap<string, string>): Redactor {
  const names = new Map<string, string>();
  for (const [name, value] of secrets) for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name);
  if (names.size === 0) return noRedaction;
  // The first alternative that fits counts, and it has to be the longest.
  const forms = [...names.keys()].sort((a, b) => b.length - a.length).map(escapePattern);
  const pattern = new RegExp(forms.join('|'), 'g');
  const text = (input: string): string => input.replace(pattern, (match) => `[secret ${names.get(match)}]`);
  const value = (input: unknown): unknown => {
    if (typeof input === 'string') return text(input);
    if (Array.isArray(input)) return input.map(value);
    if (!isObject(input) || !isPlain(input)) return input;
    return Object.fromEntries(Object.entries(input).map(([name, part]) => [text(name), value(part)]));
  };
  return { text, value: value as Redactor['value'] };
}

const isPlain = (value: object): boolean => [Object.prototype, null].includes(Object.getPrototypeOf(value));

const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

function formsOf(value: string): string[] {
  if (value.length < minRedactedLength) return [];
  const lines = value.split('\n').map((line) => line.trim());
  const bytes = Buffer.from(value);
  const forms = [
    value,
    ...lines.filter((line) => line.length >= minLineLength),
    JSON.stringify(value).slice(1, -1),
    ...urlForms(value),
    ...base64Forms(bytes),
    ...[bytes.toString('hex'), bytes.toString('hex').toUpperCase()],
  ];
  return [...new Set(forms)].filter((form) => form.length >= minRedactedLength);
}

function urlForms(value: string): string[] {
  const encodedText = encodeURIComponent(Buffer.from(value).toString());
  return [encodedText, encodedText.replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()), encodedText.replaceAll('%20', '+')];
}

/** Three bytes become four characters, so there are three ways in which a value can be encoded within a longer text. */
function base64Forms(bytes: Buffer): string[] {
  const inner = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    // Characters that also depend on the bytes before or after the value are left out.
    return text.slice(Math.ceil((offset * 4) / 3), Math.floor(((offset + bytes.length) * 4) / 3));
  });
  const whole = bytes.toString('base64');
  return [whole, whole.replace(/=+$/, ''), ...inner].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}
