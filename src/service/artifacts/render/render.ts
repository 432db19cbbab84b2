/**
 * Renders a page as self-contained HTML without scripts or external resources. Pure: the same content gives the same bytes. All
 * external text is escaped, and the content security policy blocks anything that escaping misses.
 */
import { createHash } from 'node:crypto';
import { Html, html } from '../../../base/html.ts';
import type { ArtifactTheme } from '../../../interface/types.ts';
import type { BlockContent, PageContent, TableContent } from '../content.ts';
import { barChart, timeChart, usageChart } from './charts.ts';
import { style } from './style.ts';
import { amount, bucket, moment, status } from './words.ts';

const styleDigest = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

/** A page may use its own style sheet and nothing else. */
export const pagePolicy = `default-src 'none'; style-src ${styleDigest}; base-uri 'none'; form-action 'none'`;

/** A table with more rows than this may be split between sheets of paper. */
const longTable = 12;

/** @param theme overrides the reader's system setting */
export function renderPage({ title, asOf, blocks }: PageContent, theme?: ArtifactTheme): string {
  return html`<!doctype html>
<html lang="en"${theme === undefined ? undefined : html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme ?? 'light dark'}">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><div class="wrap">
<h1>${title}</h1>
<p class="as-of">As of ${moment(asOf)} UTC</p>
</div></header>
<main id="content" class="wrap">
${blocks.length === 0 ? html`<p class="none">This page is empty.</p>` : groups(blocks)}
</main>
</body>
</html>
`.text;
}

/** Groups consecutive numbers, which are shown side by side. */
function groups(blocks: readonly BlockContent[]): Html[] {
  const isNumber = (block: BlockContent | undefined): boolean => block?.kind === 'data' && block.data.kind === 'number';
  return blocks.map((block, index) => {
    if (!isNumber(block)) return section(block);
    const opening = isNumber(blocks[index - 1]) ? undefined : html`<div class="figures">\n`;
    const closing = isNumber(blocks[index + 1]) ? undefined : html`</div>\n`;
    return html`${opening}${section(block)}${closing}`;
  });
}

function section(block: BlockContent): Html {
  if (block.kind === 'text') return html`<section id="${block.id}">${paragraphs(block.text)}</section>\n`;
  const { id, title, data } = block;
  const isLong = data.kind === 'table' && data.rows.length > longTable;
  return html`<section id="${id}" aria-labelledby="${id}-title"${isLong ? html` class="long"` : undefined}>
<h2 id="${id}-title">${title}</h2>
${figures(data, title)}
</section>
`;
}

function figures(data: Exclude<BlockContent, { kind: 'text' }>['data'], title: string): Html {
  switch (data.kind) {
    case 'number':
      return html`<p class="number">${amount(data.value)}</p>`;
    case 'bars':
      return barChart(data);
    case 'series':
      return timeChart(data, title);
    case 'usage':
      return usageChart(data);
    case 'table':
      return table(data, title);
  }
}

function table({ columns, rows, total, earlier }: TableContent, title: string): Html {
  if (rows.length === 0) return html`<p class="none">Nothing to show.</p>`;
  const head = columns.map(
    ({ label, kind }) => html`<th scope="col"${kind === 'number' ? html` class="amount"` : undefined}>${label}</th>`,
  );
  const body = rows.map((row) => html`<tr>${row.map((value, index) => cell(value, columns[index]))}</tr>\n`);
  // Narrow screens show each row as a list; two columns always fit side by side.
  const stack = columns.length > 2 ? ' stack' : '';
  const note = omissionNote({ rows, total, earlier });
  // Anything that scrolls has to be reachable with the keyboard.
  return html`<div class="scroll${stack}" tabindex="0" role="region" aria-label="Table: ${title}"><table class="rows"><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table></div>${note}`;
}

function omissionNote({ rows, total, earlier }: Pick<TableContent, 'rows' | 'total' | 'earlier'>): Html | undefined {
  if (earlier !== undefined) return html`<p class="note">${amount(earlier)} before ${bucket(String(rows[0]?.[0]))}</p>`;
  return total > rows.length ? html`<p class="note">The first ${amount(rows.length)} of ${amount(total)}</p>` : undefined;
}

function cell(value: string | number | null, column: TableContent['columns'][number] | undefined): Html {
  const { kind = 'text', label = '' } = column ?? {};
  const text = String(value ?? '');
  const labelAttribute = html` data-label="${label}"`;
  if (kind === 'number') return html`<td class="amount"${labelAttribute}>${typeof value === 'number' ? amount(value) : text}</td>`;
  if (kind === 'bucket') return html`<td${labelAttribute}>${bucket(text)}</td>`;
  if (kind === 'status') return html`<td${labelAttribute}>${status(text)}</td>`;
  if (kind === 'time' && text !== '') return html`<td${labelAttribute}>${moment(text)}</td>`;
  return html`<td${labelAttribute}>${text}</td>`;
}

const paragraphs = (text: string): Html[] => text.split(/\n{2,}/).map((part) => html`<p>${part}</p>`);
