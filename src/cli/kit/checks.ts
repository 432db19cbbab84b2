/** The interface's requirements for values, checked before anything is sent: lengths, IDs, addresses. For the `check` of arguments and options. */
import { win32 } from 'node:path';
import { UsageError } from '../../base/errors.ts';

/** Returns the value if it is valid. `name` is the flag or the argument. @throws UsageError that says what is wrong with it */
export type Check = (value: string, name: string) => string;

/** A length in characters (code points, as in the schemas), with an optional maximum. */
export const length =
  (minimum: number, maximum?: number): Check =>
  (value, name) => {
    const count = [...value].length;
    if (count < minimum)
      throw new UsageError(minimum === 1 ? `${name} is empty.` : `${name} must have at least ${minimum} characters, not ${count}.`);
    if (maximum !== undefined && count > maximum) throw new UsageError(`${name} must have at most ${maximum} characters, not ${count}.`);
    return value;
  };

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (value: string): boolean => uuidForm.test(value);

/** An ID, in lower case as the service writes it. */
export const uuid: Check = (value, name) => {
  if (isUuid(value)) return value.toLowerCase();
  throw new UsageError(`${name} must be an ID, not "${value}".`, 'IDs are UUIDs such as 6f1c0a51-6c6e-4b0e-9f0e-0d4d4f3a2b11.');
};

/** An absolute http or https address. */
export const webAddress: Check = (value, name) => {
  const protocol = URL.canParse(value) ? new URL(value).protocol : '';
  if (protocol === 'http:' || protocol === 'https:') return value;
  throw new UsageError(`${name} must be an http or https address, not "${value}".`, 'Write it in full: https://example.com/hook.');
};

/** An absolute path on another machine, whose system is unknown. */
export const absolutePath: Check = (value, name) => {
  // Windows accepts the absolute paths of other systems as well.
  if (win32.isAbsolute(value)) return value;
  throw new UsageError(`${name} must be an absolute path, not "${value}".`, 'It is a path on the machine of the service.');
};
