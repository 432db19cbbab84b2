/** What a stream can do and may do: colour, width, questions. Pure functions of the stream, the environment and the flags. */

/** Environment variables as given by the launcher. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type ColorMode = 'auto' | 'always' | 'never';

const defaultColumns = 80;

/** Whether this is a CI job; `CI=false` and `CI=0` say it is not. */
export function isCi(env: Environment): boolean {
  const value = env.CI?.toLowerCase();
  return value !== undefined && value !== '' && value !== 'false' && value !== '0';
}

/**
 * Whether to use colour on one stream. The flag beats NO_COLOR (no-color.org: any value but the empty one), which beats
 * FORCE_COLOR (`0` and `false` mean no), which beats what the stream is.
 */
export function wantsColor(mode: ColorMode, isTTY: boolean, env: Environment): boolean {
  if (mode !== 'auto') return mode === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return isTTY && env.TERM !== 'dumb' && !isCi(env);
}

/** Columns of a stream; COLUMNS where the stream does not know, else 80. */
export function columnsOf(stream: { columns?: number }, env: Environment): number {
  if (stream.columns !== undefined && stream.columns > 0) return stream.columns;
  const given = Number(env.COLUMNS);
  return Number.isInteger(given) && given > 0 ? given : defaultColumns;
}
