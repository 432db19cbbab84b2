/** A configured value together with its origin, which `aops config explain` shows. */

export type ValueSource = 'flag' | 'environment' | 'profile' | 'setting' | 'default';

/** A value and where it came from: `--team`, `AOPS_TEAM_ID`, `profile local`, `setting team_id`, `default`. */
export interface Origin {
  source: ValueSource;
  name: string;
}

export interface Resolved<T> extends Origin {
  value: T;
  /** Weaker values that did not count, the strongest first; secrets masked. */
  shadowed: (Origin & { value: string })[];
}
