/** Capabilities of a stream: colour, width, hyperlinks. Pure functions of the stream, the environment and the flags. */

/** Environment variables as passed by the launcher. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type ColorMode = 'auto' | 'always' | 'never';

const defaultColumns = 80;

/** Whether this is a CI job; `CI=false` and `CI=0` mean that it is not. */
export function isCi(env: Environment): boolean {
  const value = env.CI?.toLowerCase();
  return value !== undefined && value !== '' && value !== 'false' && value !== '0';
}

/**
 * Whether to use colour on one stream. The flag beats NO_COLOR (no-color.org: any non-empty value), which beats
 * FORCE_COLOR (`0` and `false` mean no), which beats detection.
 */
export function wantsColor(mode: ColorMode, isTTY: boolean, env: Environment): boolean {
  if (mode !== 'auto') return mode === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return isTTY && env.TERM !== 'dumb' && !isCi(env);
}

/** Whether characters beyond ASCII are displayed: in a UTF-8 locale, and in Windows Terminal, which always supports them. */
export function supportsUnicode(env: Environment): boolean {
  const { LC_ALL, LC_CTYPE, LANG = '' } = env;
  const locale = LC_ALL || LC_CTYPE || LANG;
  return env.TERM !== 'linux' && (/utf-?8/i.test(locale) || env.WT_SESSION !== undefined);
}

/** Terminals known to support hyperlinks (OSC 8); others may print the escape sequence. */
const linkingPrograms = ['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper', 'rio', 'Tabby'];
const linkingTerminals = /^(xterm-kitty|xterm-ghostty|alacritty|foot|wezterm|contour)/;

/** Whether to write hyperlinks to a stream. FORCE_HYPERLINK overrides detection (`0` means no). */
export function supportsLinks(isTTY: boolean, env: Environment): boolean {
  const { TERM = '', TERM_PROGRAM = '' } = env;
  if (!isTTY || TERM === 'dumb') return false;
  if (env.FORCE_HYPERLINK) return env.FORCE_HYPERLINK !== '0';
  // tmux and screen inherit the outer terminal's variables, but may not pass the sequence on.
  if (isCi(env) || /^(tmux|screen)/.test(TERM)) return false;
  return (
    linkingPrograms.includes(TERM_PROGRAM) ||
    linkingTerminals.test(TERM) ||
    Number(env.VTE_VERSION) >= 5_000 ||
    env.KONSOLE_VERSION !== undefined ||
    env.WT_SESSION !== undefined
  );
}

/** Columns of a stream; COLUMNS if the stream does not know its width, or else 80. */
export function columnsOf({ columns = 0 }: { columns?: number | undefined }, env: Environment): number {
  if (columns > 0) return columns;
  const preset = Number(env.COLUMNS);
  return Number.isInteger(preset) && preset > 0 ? preset : defaultColumns;
}
