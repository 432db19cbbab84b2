/** A configured value together with its origin, as `aops config explain` shows it. */

export type ValueSource = 'flag' | 'environment' | 'project' | 'profile' | 'setting' | 'default';

/** A value and where it came from: `--team`, `AOPS_TEAM_ID`, the path of a `.aops.toml`, `profile local`, `setting team_id`, `default`. */
export interface Origin {
  source: ValueSource;
  name: string;
}

export interface ResolvedValue<T> extends Origin {
  value: T;
  /** Values of lower precedence, in order of precedence; secrets are masked. */
  shadowed: (Origin & { value: string })[];
}
