/** Checks that events that a command printed match the schema in the OpenAPI document. Done after every command in a test. */
import { isObject, jsonValue } from '../../src/base/values.ts';
import { PrintedEvent } from '../../src/interface/schemas/printed-events.ts';
import { Compile, type Validator } from '../../src/interface/validator.ts';

let validator: Validator | undefined;

const formFlags = ['--fields', '--jq', '--template'];

/** Whether a command prints nothing but complete events. */
const isStream = (argv: readonly string[]): boolean =>
  !argv.some((word) => formFlags.includes(word)) &&
  ((argv.includes('ndjson') && ['watch', '--watch', '--follow', '--answers'].some((word) => argv.includes(word))) ||
    (argv.includes('listen') && (argv.includes('ndjson') || argv.includes('--json'))));

/** The printed events: all lines of a stream, and elsewhere the objects with a number. */
function eventsIn(argv: readonly string[], stdout: string): object[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  if (isStream(argv)) return lines.map((line) => JSON.parse(line) as object);
  return lines.flatMap((line) => {
    const value = line.startsWith('{"v":') ? jsonValue(line) : undefined;
    return isObject(value) && 'seq' in value ? [value] : [];
  });
}

/** @throws Error with the first event that does not match, and the reason */
export function checkPrintedEvents(argv: readonly string[], stdout: string): void {
  for (const event of eventsIn(argv, stdout)) {
    validator ??= Compile(PrintedEvent);
    if (validator.Check(event)) continue;
    const { type } = event as { type: unknown };
    const { anyOf } = PrintedEvent;
    const alternatives = anyOf.flatMap((stream) => stream.anyOf as { properties: { type: { const: unknown } } }[]);
    const errors = alternatives
      .filter((schema) => schema.properties.type.const === type)
      .flatMap((schema) => Compile(schema as never).Errors(event));
    const reasons = errors.map(({ instancePath, message }) => `${instancePath || '/'} ${message}`).join('; ');
    throw new Error(`A printed event of the type ${String(type)} does not match its schema (${reasons}): ${JSON.stringify(event)}`);
  }
}
