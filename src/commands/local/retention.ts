/** The flags that say how long a service keeps what has ended. */
import { formatDuration, parseDuration } from '../../base/duration.ts';
import { UsageError } from '../../base/errors.ts';
import { duration, text } from '../../cli/kit/flags.ts';
import type { ServiceOptions } from '../../service/service.ts';

const byDefault = '90d';
const shortest = 60_000;

export const retentionOptions = {
  retention: text(
    'DURATION|off',
    `Remove runs that ended so long ago, with their messages and files (default ${byDefault}; off keeps them)`,
    {
      check: retentionCheck,
    },
  ),
  keepSandboxes: duration('Remove the files of runs that ended so long ago (default: with the run)'),
} as const;

export interface RetentionInput {
  retention: string | undefined;
  keepSandboxes: string | undefined;
}

function retentionCheck(value: string, name: string): string {
  if (value === 'off') return value;
  const milliseconds = parseDuration(value);
  if (milliseconds !== undefined && milliseconds >= shortest) return value;
  throw new UsageError(`${name} takes a duration of a minute or more, such as 90d, or off, not "${value}".`);
}

/** As the service takes them. */
export function retentionSettings({
  retention = byDefault,
  keepSandboxes,
}: RetentionInput): Pick<ServiceOptions, 'runRetention' | 'sandboxRetention'> {
  return {
    ...(retention === 'off' ? {} : { runRetention: parseDuration(retention) as number }),
    ...(keepSandboxes === undefined ? {} : { sandboxRetention: parseDuration(keepSandboxes) as number }),
  };
}

/** As `aops serve` takes them. */
export const retentionArguments = ({ retention, keepSandboxes }: RetentionInput): string[] => [
  ...(retention === undefined ? [] : ['--retention', retention]),
  ...(keepSandboxes === undefined ? [] : ['--keep-sandboxes', keepSandboxes]),
];

/** As the state of a service has them: durations, or `off`. */
export const retentionState = ({ retention = byDefault, keepSandboxes = 'off' }: RetentionInput) => ({
  retention,
  sandbox_retention: keepSandboxes,
});

/** Whether a running service keeps for another time than what is asked for. */
export const differsInRetention = (
  running: Partial<ReturnType<typeof retentionState>>,
  { retention, keepSandboxes }: RetentionInput,
): boolean => differs(running.retention, retention) || differs(running.sandbox_retention, keepSandboxes);

const differs = (is: string | undefined, asked: string | undefined): boolean =>
  asked !== undefined && (is === undefined || milliseconds(is) !== milliseconds(asked));

const milliseconds = (value: string): number | undefined => (value === 'off' ? undefined : parseDuration(value));

/** For people; nothing of a service that does not say. */
export function retentionInWords(retention: string | null | undefined, sandboxRetention: string | null | undefined): string | undefined {
  if (retention === null || retention === undefined) return undefined;
  const runs = retention === 'off' ? 'runs for ever' : `runs ${shown(retention)} after their end`;
  if (sandboxRetention === null || sandboxRetention === undefined || sandboxRetention === 'off') return runs;
  return `${runs}, their files ${shown(sandboxRetention)}`;
}

function shown(value: string): string {
  const time = parseDuration(value);
  return time === undefined ? value : formatDuration(time);
}
