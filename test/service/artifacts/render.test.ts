/** Pages as HTML: self-contained, escaped, and deterministic. */
import { describe, expect, it } from 'vitest';
import type { BlockContent, PageContent } from '../../../src/service/artifacts/content.ts';
import { pagePolicy, renderPage } from '../../../src/service/artifacts/render/render.ts';

const hostileHtml = '<img src=x onerror=alert(1)></style></script>"\'&\u202e\u001b]0;x';

const data = (content: Extract<BlockContent, { kind: 'data' }>['data'], title = hostileHtml): BlockContent => ({
  id: 'part-1',
  kind: 'data',
  title,
  subject: 'runs',
  data: content,
});
const page = (...blocks: BlockContent[]): PageContent => ({ title: hostileHtml, asOf: '2026-07-18T09:00:00.000Z', blocks });

const every = page(
  { id: 'part-9', kind: 'text', text: `${hostileHtml}\n\n${hostileHtml}` },
  data({ kind: 'number', value: 1234567 }),
  data({
    kind: 'bars',
    bars: [
      { label: hostileHtml, value: 3, status: true },
      { label: hostileHtml, value: 0 },
    ],
    total: 3,
  }),
  data({ kind: 'bars', bars: [], total: 0 }),
  data({
    kind: 'series',
    as: 'bars',
    points: [
      { label: '2026-07-17', value: 0 },
      { label: '2026-07-18', value: 5 },
    ],
    total: 5,
  }),
  data({ kind: 'series', as: 'line', points: [{ label: '2026-07-18T09', value: 5 }], total: 5 }),
  data({ kind: 'series', as: 'line', points: [{ label: '2026-07', value: 0 }], total: 0 }),
  data({ kind: 'series', as: 'line', points: [], total: 0 }),
  data({
    kind: 'table',
    columns: [
      { label: hostileHtml, kind: 'text' },
      { label: 'n', kind: 'number' },
      { label: 's', kind: 'status' },
      { label: 't', kind: 'time' },
    ],
    rows: [
      [hostileHtml, 5, hostileHtml, '2026-07-18T09:00:00.000Z'],
      [null, null, 'failed', null],
    ],
    total: 500,
  }),
  data({ kind: 'table', columns: [], rows: [], total: 0 }),
  data({
    kind: 'usage',
    limits: [
      { label: 'Runs', used: 12, limit: 10 },
      { label: 'Agents', used: 1, limit: 'unlimited' },
      { label: 'None', used: 0, limit: 0 },
    ],
    period: { start: '2026-07-01T00:00:00.000Z', end: '2026-08-01T00:00:00.000Z' },
  }),
);

describe('a page', () => {
  const html = renderPage(every);

  it('escapes texts from elsewhere everywhere, and makes hidden characters visible', () => {
    expect(html).not.toMatch(/<img|<script|onerror=alert\(1\)>/);
    expect(html.match(/<\/style>/g)).toHaveLength(1);
    expect(html).not.toContain('\u202e');
    expect(html).not.toContain('\u001b');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;&lt;/style&gt;&lt;/script&gt;&quot;&#39;&amp;\\u{202e}^[]0;x');
  });

  it('has no scripts and no inline styles, and does not load anything', () => {
    const tags = (html.match(/<[^>]+>/g) ?? []).map((tag) => tag.replaceAll(/="[^"]*"/g, '=""')).join('\n');
    expect(tags).not.toMatch(/<script|\sstyle=|\son\w+=|<link|<iframe|<object|<img|<form|\ssrc=/i);
    expect(html).not.toMatch(/javascript:|url\(|@import/i);
    expect(html.match(/href="[^"]*"/g)).toEqual(['href="#content"']);
    expect(html).toContain(`<meta http-equiv="Content-Security-Policy" content="${pagePolicy.replaceAll("'", '&#39;')}">`);
    expect(pagePolicy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'$/);
  });

  it('has only valid numbers in its drawings', () => {
    expect(html).not.toMatch(/NaN|Infinity|undefined|null/);
  });

  it('has figures, times, and omissions in words', () => {
    expect(html).toContain('<p class="number">1,234,567</p>');
    expect(html).toContain('The first 2 of 500');
    expect(html).toContain('<time datetime="2026-07-18T09:00:00.000Z">2026-07-18 09:00</time>');
    expect(html).toContain('12 of 10');
    expect(html).toContain('1 of unlimited');
    expect(html).toContain('There is nothing to count.');
    expect(renderPage(page())).toContain('This page is empty.');
  });

  it('is the same for the same content, and has the requested theme', () => {
    expect(renderPage(every)).toBe(html);
    expect(html).toContain('<html lang="en">');
    expect(renderPage(every, 'dark')).toContain('<html lang="en" data-theme="dark">');
    expect(
      renderPage(every, 'light')
        .replace(' data-theme="light"', '')
        .replace('"color-scheme" content="light"', '"color-scheme" content="light dark"'),
    ).toBe(html);
  });
});
