/** The theme of prompts, built from our styles, so that NO_COLOR, --color and a stderr without colour apply to them too. */
import { adoptSequences, resolveMarkup, type Styles } from './style.ts';

/** The theme of every kind of prompt. */
export function promptTheme(styles: Styles) {
  const { accent, bold, dim, error, success } = resolvedStyles(styles);
  return {
    prefix: { idle: accent('?'), done: success('✓') },
    icon: { checked: success('◉'), unchecked: '◯', cursor: '❯' },
    style: {
      answer: accent,
      message: bold,
      error: (text: string) => error(`> ${text}`),
      defaultAnswer: (text: string) => dim(`(${text})`),
      help: dim,
      highlight: accent,
      description: dim,
      keysHelpTip: (keys: [string, string][]) => keys.map(([key, action]) => `${bold(key)} ${dim(action)}`).join(dim(' • ')),
    },
  };
}

/**
 * inquirer writes to the stream itself, so the markup is resolved here; and it nests styles. The texts of a prompt are
 * already sanitised at this point.
 */
function resolvedStyles(styles: Styles) {
  const withMarkup = (style: (text: string) => string) => (text: string) => resolveMarkup(style(adoptSequences(text)));
  return {
    accent: withMarkup(styles.accent),
    bold: withMarkup(styles.bold),
    dim: withMarkup(styles.dim),
    error: withMarkup(styles.error),
    success: withMarkup(styles.success),
  };
}
