/** Usage figures as bars: how much of a limit is used, and how much remains. */
import { cellText, paint, type View } from './cell.ts';
import { plainStyles, type StyleName } from './style.ts';
import { pad, truncate, widthFor } from './width.ts';

export interface Bar {
  label: string;
  used: number;
  /** Undefined when usage is unlimited. */
  limit: number | undefined;
}

/** On narrower terminals the bar is drawn on a line of its own. */
const wideViewWidth = 60;
const maxBarColumns = 40;
const gap = '  ';

/** Share of the limit that is used, 0 or more; undefined without a limit. */
export function usedShare({ used, limit }: Pick<Bar, 'used' | 'limit'>): number | undefined {
  if (limit === undefined) return undefined;
  return used === 0 ? 0 : used / limit;
}

/** The bars as text that ends in a line feed; off a terminal, label, used, limit and remainder separated by tabs. */
export async function renderBars(bars: readonly Bar[], view: View): Promise<string> {
  if (!view.tty)
    return bars.map((bar) => `${[bar.label, bar.used, bar.limit ?? 'unlimited', remainingOf(bar) ?? 'unlimited'].join('\t')}\n`).join('');
  const rows = bars.map((bar) => ({ bar, label: cellText(bar.label, view), used: usedText(bar), remaining: remainingText(bar) }));
  const widthOf = await widthFor(rows.map(({ label }) => label));
  const maxWidth = (texts: string[]): number => Math.max(0, ...texts.map((text) => widthOf(text)));
  const labels = maxWidth(rows.map(({ label }) => label));
  const usedWidth = maxWidth(rows.map((row) => row.used));
  const leftWidth = maxWidth(rows.map((row) => row.remaining));
  const { bold, dim } = view.styles ?? plainStyles;
  if (view.width < wideViewWidth) {
    return rows
      .map(({ bar, label, used, remaining }) => {
        const figures = `${used}, ${remaining}`;
        const barText = draw(bar, view.width - gap.length, view);
        return `${bold(truncate(label, view.width, widthOf))}\n${gap}${truncate(figures, view.width - gap.length, widthOf)}\n${barText === '' ? '' : `${gap}${barText}\n`}`;
      })
      .join('');
  }
  const barColumns = Math.min(maxBarColumns, view.width - labels - usedWidth - leftWidth - 3 * gap.length);
  return rows
    .map((row) => {
      const cells = [
        pad(row.label, labels, widthOf),
        draw(row.bar, barColumns, view) || ' '.repeat(barColumns),
        pad(row.used, usedWidth, widthOf, 'right'),
        dim(row.remaining),
      ];
      return `${cells.join(gap).trimEnd()}\n`;
    })
    .join('');
}

const remainingOf = ({ used, limit }: Bar): number | undefined => (limit === undefined ? undefined : Math.max(0, limit - used));
const usedText = ({ used, limit }: Bar): string => (limit === undefined ? String(used) : `${used} of ${limit}`);
const remainingText = (bar: Bar): string => (bar.limit === undefined ? 'unlimited' : `${remainingOf(bar)} left`);

/** The bar itself; empty without a limit. Any usage fills at least one cell, and the bar is full only when the limit is reached. */
function draw(bar: Bar, width: number, view: View): string {
  const share = usedShare(bar);
  if (share === undefined) return '';
  const [full, empty, open, close] = view.unicode ? ['█', '░', '', ''] : ['#', '.', '[', ']'];
  const cells = Math.max(1, width - open.length - close.length);
  const filledCells = share === 0 ? 0 : share >= 1 ? cells : Math.min(cells - 1, Math.max(1, Math.round(share * cells)));
  return `${open}${paint(full.repeat(filledCells), styleOf(share), view)}${(view.styles ?? plainStyles).dim(empty.repeat(cells - filledCells))}${close}`;
}

const styleOf = (share: number): StyleName => (share >= 1 ? 'error' : share >= 0.8 ? 'warning' : 'success');
