/**
 * Desktop notifications by escape sequence, which also work over SSH: the terminal shows them. Each sequence is sent only to
 * terminals that are known to understand it, and always together with the bell, which every terminal understands.
 */
import { shorten } from '../base/values.ts';
import type { Environment } from './capabilities.ts';
import { sanitizeLine } from './sanitize.ts';

/** The escape sequences for notifications: of iTerm2 (9), of rxvt-unicode (777), and of kitty (99). */
export type NotificationProtocol = 'osc9' | 'osc99' | 'osc777';

/** How the sequence reaches the terminal: directly, or through the terminal multiplexer in between. */
export interface NotificationRoute {
  protocol: NotificationProtocol | undefined;
  /** Whether tmux is in between. It passes the sequence on if its option `allow-passthrough` is on, and drops it otherwise. */
  throughTmux: boolean;
}

const bell = '\u0007';
const escapeCharacter = '\u001b';
const stringEnd = `${escapeCharacter}\\`;
const title = 'aops';

/** Maximum length of a text, in characters: notifications show one or two lines. */
const maxLength = 140;

/** Terminals by TERM_PROGRAM. VS Code shows OSC 99 since 1.110. */
const byProgram: Readonly<Record<string, NotificationProtocol>> = {
  'iTerm.app': 'osc9',
  WarpTerminal: 'osc9',
  vscode: 'osc99',
  WezTerm: 'osc777',
  ghostty: 'osc777',
  rio: 'osc777',
};

/** Terminals by TERM, for those that do not set TERM_PROGRAM. */
const byTerm: readonly (readonly [RegExp, NotificationProtocol])[] = [
  [/^xterm-kitty/, 'osc99'],
  [/^(xterm-ghostty|foot|rxvt|wezterm|contour)/, 'osc777'],
];

/** Which sequence to send; without one, only the bell rings. */
export function notificationRoute(env: Environment): NotificationRoute {
  const { TERM = '' } = env;
  // screen and Zellij do not pass sequences on, and the Linux console would print them.
  const isOpaque = env.ZELLIJ !== undefined || (env.STY !== undefined && env.TMUX === undefined);
  if (isOpaque || TERM === 'dumb' || TERM === 'linux') return { protocol: undefined, throughTmux: false };
  const throughTmux = env.TMUX !== undefined && env.TMUX !== '';
  // Inside of tmux, TERM and TERM_PROGRAM are those of tmux. OSC 777 is the one that terminals that do not know it ignore.
  return { protocol: throughTmux ? (outerProtocol(env) ?? 'osc777') : protocolOf(env), throughTmux };
}

function protocolOf(env: Environment): NotificationProtocol | undefined {
  const { TERM = '', TERM_PROGRAM = '' } = env;
  if (Object.hasOwn(byProgram, TERM_PROGRAM)) return byProgram[TERM_PROGRAM];
  const [, protocol] = byTerm.find(([pattern]) => pattern.test(TERM)) ?? [];
  return protocol ?? outerProtocol(env);
}

/** The protocol of the terminal around tmux or SSH, from variables that are passed on to it. */
function outerProtocol(env: Environment): NotificationProtocol | undefined {
  if (env.LC_TERMINAL === 'iTerm2' || env.ITERM_SESSION_ID !== undefined) return 'osc9';
  if (env.KITTY_WINDOW_ID !== undefined) return 'osc99';
  // Windows Terminal shows them since 1.25, and GNOME Terminal where the distribution adds it; both ignore them otherwise.
  if (env.GHOSTTY_RESOURCES_DIR !== undefined || env.WEZTERM_PANE !== undefined) return 'osc777';
  if (env.WT_SESSION !== undefined || env.VTE_VERSION !== undefined) return 'osc777';
  return undefined;
}

/**
 * The bytes that ring the bell and show a notification. Control characters in the text are made visible, so that it cannot end the
 * sequence, and the text is shortened.
 */
export function notificationSequence(text: string, env: Environment): string {
  const { protocol, throughTmux } = notificationRoute(env);
  if (protocol === undefined) return bell;
  const line = shorten(sanitizeLine(text), maxLength);
  const sequence = sequenceOf(protocol, line);
  return `${throughTmux ? passedThrough(sequence) : sequence}${bell}`;
}

function sequenceOf(protocol: NotificationProtocol, line: string): string {
  switch (protocol) {
    case 'osc9':
      // The title also ensures that ConEmu does not read a leading digit as one of its own commands.
      return `${escapeCharacter}]9;${title}: ${line}${bell}`;
    case 'osc777':
      // Some terminals take everything after a further semicolon for another field.
      return `${escapeCharacter}]777;notify;${title};${line.replaceAll(';', ',')}${bell}`;
    case 'osc99':
      return `${escapeCharacter}]99;;${title}: ${line}${stringEnd}`;
  }
}

/** A sequence in the envelope of tmux, in which each escape character is doubled. */
const passedThrough = (sequence: string): string =>
  `${escapeCharacter}Ptmux;${sequence.replaceAll(escapeCharacter, escapeCharacter.repeat(2))}${stringEnd}`;
