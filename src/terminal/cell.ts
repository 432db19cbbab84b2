/** One value as text, for table cells and record fields. */
import { hyperlink } from './link.ts';
import { formatTime } from './relative-time.ts';
import { sanitize, sanitizeLine } from './sanitize.ts';
import { plainStyles, type StyleName, type Styles } from './style.ts';

/** What rendering for people depends on; renderers are pure functions of the data and the view. */
export interface View {
  /** Whether the output goes to a terminal. Otherwise rows are tab-separated and nothing is shortened. */
  tty: boolean;
  /** Columns of the terminal. */
  width: number;
  /** Milliseconds since the epoch, for relative times. */
  now: number;
  /** Styles of the stream; plain when left out. */
  styles?: Styles;
  /** Whether characters beyond ASCII may be used for drawing. */
  unicode?: boolean;
  /** Whether the terminal shows hyperlinks. */
  links?: boolean;
  /** Completes a command that is suggested as the next step, so that it reaches the same service and team. */
  completeCommand?: (command: string) => string;
}

/** How a value is styled. `status` picks the colour by the status word. */
export type CellStyle = StyleName | 'status';

/** A value on one line: empty for null, lists joined, objects as JSON, `time` values relative on a terminal. */
export function cellText(value: unknown, view: View, time = false): string {
  return sanitizeLine(rawText(value, view, time));
}

/** A value on one or more lines. */
export function blockText(value: unknown, view: View, time = false): string {
  return sanitize(rawText(value, view, time)).trimEnd();
}

/** Text in the style of its column. */
export function paint(text: string, style: CellStyle | undefined, view: View): string {
  return style === undefined || text.trim() === '' ? text : (view.styles ?? plainStyles)[style](text);
}

/** Text with a hyperlink, if the terminal supports it. Apply it last: styles cannot be put around links. */
export function withLink(text: string, url: unknown, view: View): string {
  return view.links && text.trim() !== '' ? hyperlink(text, url) : text;
}

function rawText(value: unknown, view: View, time: boolean): string {
  if (value === null || value === undefined) return '';
  if (time || value instanceof Date) return formatTime(value, view);
  if (typeof value === 'boolean') return view.tty ? (value ? 'yes' : 'no') : String(value);
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null)) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
