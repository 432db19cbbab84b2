/** Parts of the self-contained pages that commands of this group write: facts in the header, times, and the content security policy. */
import { crypto } from '../../base/crypto.ts';
import { formatDuration } from '../../base/duration.ts';
import { Html, html } from '../../base/html.ts';

/** The policy of a page with this style: no scripts, no requests, pictures only as part of the page. */
const pagePolicy = (style: string): string =>
  `default-src 'none'; img-src data:; style-src 'sha256-${crypto().createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** The beginning of a page that consists of one file, up to the start of its body. @param style its style sheet */
export const documentStart = (title: string, style: string): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy(style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>`;

export const fact = (name: string, value: Html | string | undefined): Html =>
  value === undefined ? new Html('') : html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

/** `2026-11-20 13:09:49`, with the exact time for programs. */
export const moment = (time: string | null | undefined): Html | undefined =>
  instant(time, (iso) => `${iso.slice(0, 10)} ${iso.slice(11, 19)}`);

/** `13:09:49` */
export const clock = (time: string | null | undefined): Html | undefined => instant(time, (iso) => iso.slice(11, 19));

function instant(time: string | null | undefined, show: (iso: string) => string): Html | undefined {
  const milliseconds = Date.parse(time ?? '');
  if (!Number.isFinite(milliseconds)) return undefined;
  const iso = new Date(milliseconds).toISOString();
  return html`<time datetime="${iso}" title="${iso}">${show(iso)}</time>`;
}

export function between(start: string | null | undefined, end: string | null | undefined): string | undefined {
  const milliseconds = Date.parse(end ?? '') - Date.parse(start ?? '');
  return Number.isFinite(milliseconds) && milliseconds >= 0 ? formatDuration(milliseconds) : undefined;
}

export const statusClass = (status: string): string => (['completed', 'failed', 'interrupted'].includes(status) ? status : 'going');
