/** Charts: tables with bars next to their figures, and counts over time. The drawings stretch with the page, so they contain no text. */
import { type Html, html } from '../../../base/html.ts';
import type { BarsContent, SeriesContent, UsageContent } from '../content.ts';
import { amount, bucket, join, status } from './words.ts';

/** Width and height of the drawings in SVG units. */
const [width, height] = [1_000, 220];
/** The maximum width of a column, however few there are. */
const widestColumn = 90;

export function barChart({ bars, total }: BarsContent): Html {
  if (bars.length === 0) return emptyNote;
  const maximum = Math.max(...bars.map(({ value }) => value), 1);
  const rows = bars.map(
    ({ label, value, status: isStatus }) =>
      html`<tr><th scope="row"><span class="label">${isStatus ? status(label) : label}</span></th><td class="drawn">${bar(value / maximum)}</td><td class="amount">${amount(value)}</td></tr>`,
  );
  return html`<table class="bars"><tbody>${rows}</tbody></table><p class="note">${amount(total)} in total</p>`;
}

export function usageChart({ limits, period }: UsageContent): Html {
  const rows = limits.map(({ label, used, limit }) => {
    const share = limit === 'unlimited' ? undefined : used / Math.max(limit, 1);
    // Without a limit there is no share to draw.
    const chart = share === undefined ? undefined : bar(Math.min(share, 1), share >= 1);
    return html`<tr><th scope="row">${label}</th><td class="drawn">${chart}</td><td class="amount">${amount(used)} of ${limit === 'unlimited' ? limit : amount(limit)}</td></tr>`;
  });
  return html`<table class="bars usage"><tbody>${rows}</tbody></table><p class="note">From ${period.start.slice(0, 10)} to ${period.end.slice(0, 10)}</p>`;
}

/** A bar. The figure next to it has the same information. */
const bar = (share: number, isOver = false): Html =>
  html`<svg viewBox="0 0 ${width} 20" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="track" width="${width}" height="20"/><rect class="${isOver ? 'over' : 'fill'}" width="${round(share * width)}" height="20"/></svg>`;

export function timeChart(content: SeriesContent, title: string): Html {
  const { points, total, earlier } = content;
  if (points.length === 0) return emptyNote;
  const maximum = Math.max(...points.map(({ value }) => value));
  const peak = points.find(({ value }) => value === maximum) as { label: string };
  const chart = maximum === 0 ? undefined : content.as === 'line' ? curve(points, maximum) : columns(points, maximum);
  const ends = points.length === 1 ? [points[0]] : [points[0], points.at(-1)];
  const rows = points.map(({ label, value }) => html`<tr><td>${bucket(label)}</td><td class="amount">${amount(value)}</td></tr>`);
  return html`<p class="peak">${maximum === 0 ? 'None in this period' : `Up to ${amount(maximum)}, at ${bucket(peak.label)}`}</p>
<svg class="plot" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${title}: ${amount(total)} in total, with a peak of ${amount(maximum)}">${chart}</svg>
<p class="scale">${ends.map((end) => html`<span>${bucket(end?.label ?? '')}</span>`)}</p>
<p class="note">${amount(total)} in total${earlier === undefined ? '' : `, ${amount(earlier)} of them before ${bucket(points[0]?.label ?? '')}`}</p>
<details><summary>Show the figures</summary><div class="scroll" tabindex="0" role="region" aria-label="Figures: ${title}"><table class="rows"><thead><tr><th scope="col">From</th><th scope="col" class="amount">Number</th></tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

type Points = SeriesContent['points'];

function columns(points: Points, maximum: number): Html {
  const step = width / points.length;
  const gap = Math.max(Math.min(step * 0.2, 6), step - widestColumn);
  return join(
    points.map(({ value }, index) => {
      const barHeight = (value / maximum) * height;
      return html`<rect class="fill" x="${round(index * step + gap / 2)}" y="${round(height - barHeight)}" width="${round(step - gap)}" height="${round(barHeight)}"/>`;
    }),
  );
}

function curve(points: Points, maximum: number): Html {
  // A single point is not a line, and it is also the maximum: draw a dot, which stays round when the drawing is stretched.
  if (points.length === 1) return html`<path class="point" vector-effect="non-scaling-stroke" d="M${width / 2} ${height / 2}h0"/>`;
  const step = width / (points.length - 1);
  const path = points.map(({ value }, index) => `${round(index * step)},${round(4 + (1 - value / maximum) * (height - 8))}`).join(' ');
  return html`<polygon class="area" points="0,${height} ${path} ${width},${height}"/><polyline class="line" vector-effect="non-scaling-stroke" points="${path}"/>`;
}

const round = (value: number): number => Math.round(value * 100) / 100;

const emptyNote = html`<p class="none">There is nothing to count.</p>`;
