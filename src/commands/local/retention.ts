/** The flags for how long a service stores finished runs. */
import { formatDuration, parseDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import { duration, text } from '../../cli/kit/flags.ts';
import type { ServiceOptions } from '../../service/service.ts';

const byDefault = '90d';
const minRetention = 60_000;

export const retentionOptions = {
  retention: text(
    'DURATION|off',
    `Delete finished runs, with their messages and files, after this time (default: ${byDefault}; "off" keeps them)`,
    {
      check: retentionCheck,
    },
  ),
  keepSandboxes: duration('Delete the files of finished runs after this time (default: with the run)'),
} as const;

export interface RetentionInput {
  retention: string | undefined;
  keepSandboxes: string | undefined;
}

function retentionCheck(value: string, name: string): string {
  if (value === 'off') return value;
  const milliseconds = parseDuration(value);
  if (milliseconds !== undefined && milliseconds >= minRetention) return value;
  throw new UsageError(`${name} must be a duration of at least a minute, such as 90d, or off; "${value}" is not valid.`);
}

/** The options for the service. */
export function retentionSettings({
  retention = byDefault,
  keepSandboxes,
}: RetentionInput): Pick<ServiceOptions, 'runRetention' | 'sandboxRetention'> {
  return {
    ...(retention === 'off' ? {} : { runRetention: parseDuration(retention) as number }),
    ...(keepSandboxes === undefined ? {} : { sandboxRetention: parseDuration(keepSandboxes) as number }),
  };
}

/** The arguments for `aops serve`. */
export const retentionArguments = ({ retention, keepSandboxes }: RetentionInput): string[] => [
  ...(retention === undefined ? [] : ['--retention', retention]),
  ...(keepSandboxes === undefined ? [] : ['--keep-sandboxes', keepSandboxes]),
];

/** The values in the state of a service: durations, or `off`. */
export const retentionState = ({ retention = byDefault, keepSandboxes = 'off' }: RetentionInput) => ({
  retention,
  sandbox_retention: keepSandboxes,
});

/** Whether the retention of the running service differs from the requested one. */
export const differsInRetention = (
  running: Partial<ReturnType<typeof retentionState>>,
  { retention, keepSandboxes }: RetentionInput,
): boolean => differs(running.retention, retention) || differs(running.sandbox_retention, keepSandboxes);

const differs = (current: string | undefined, requestedValue: string | undefined): boolean =>
  requestedValue !== undefined && (current === undefined || milliseconds(current) !== milliseconds(requestedValue));

const milliseconds = (value: string): number | undefined => (value === 'off' ? undefined : parseDuration(value));

/** The retention in words; undefined if the service did not record it. */
export function retentionInWords(retention: string | null | undefined, sandboxRetention: string | null | undefined): string | undefined {
  if (retention === null || retention === undefined) return undefined;
  const runs = retention === 'off' ? 'runs forever' : `runs for ${durationText(retention)} after they end`;
  if (sandboxRetention === null || sandboxRetention === undefined || sandboxRetention === 'off') return runs;
  return `${runs}, their files for ${durationText(sandboxRetention)}`;
}

function durationText(value: string): string {
  const time = parseDuration(value);
  return time === undefined ? value : formatDuration(time);
}
