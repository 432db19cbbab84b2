/** Generates the page of a film strip piece by piece. Pure: the same input results in the same bytes. The page has no scripts and loads nothing. */
import { Html, html } from '../../../base/html.ts';
import type { Run } from '../../../interface/types.ts';
import { between, clock, documentStart, fact, moment, statusClass } from '../page-parts.ts';
import { actionText, durationOf, errorOf, pageOf, type Shot } from '../shots.ts';
import type { Frame, Picture } from './pictures.ts';
import { style } from './style.ts';

/** Longer lists of actions are collapsed. */
const maxOpenActions = 12;

/** Everything before the first frame. */
export function pageHead(run: Run, shots: readonly Shot[]): string {
  const failedCount = shots.filter((shot) => errorOf(shot) !== undefined).length;
  const facts = [
    fact('Status', html`<span class="status ${statusClass(run.status)}">${run.status}</span>`),
    fact('Started', moment(run.started_at ?? run.created_at)),
    fact('Duration', between(run.started_at, run.completed_at)),
    fact('Actions', String(shots.length)),
    fact('Failed', failedCount === 0 ? undefined : String(failedCount)),
  ];
  const links = shots.map(
    (shot) => html`<li><a href="#s${shot.number}"><b>${shot.number}</b> <bdi>${actionText(shot)}</bdi>${mark(shot)}</a></li>`,
  );
  const list = html`<ol>${links}</ol>`;
  const contents =
    shots.length === 0
      ? undefined
      : shots.length > maxOpenActions
        ? html`<nav aria-label="Actions"><details><summary>All ${shots.length} actions</summary>${list}</details></nav>`
        : html`<nav aria-label="Actions">${list}</nav>`;
  return html`${documentStart(`Run ${run.id}: screenshots`, style)}
<a class="skip" href="#strip">Skip to the pictures</a>
<header>
<div class="wrap">
<p class="kicker">Film strip</p>
<h1>Run <code>${run.id}</code></h1>
<dl>${facts}</dl>
${contents}
</div>
</header>
<main id="strip" class="wrap">
${shots.length === 0 ? html`<p class="none">The run has no screenshots.</p>` : undefined}`.text;
}

/** One frame in several parts, so that large pictures are not copied into one string. */
export function* pageFrame({ shot, before, after, isSame }: Frame, first: string | null | undefined): Generator<string> {
  const { number } = shot;
  const { url, title } = pageOf(shot);
  const error = errorOf(shot);
  const details = [
    html`<span>${clock(shot.startedAt) ?? 'at an unknown time'}</span>`,
    ...optional(number === 1 ? undefined : between(first, shot.startedAt), (text) => html`<span>${text} after the first</span>`),
    ...optional(durationOf(shot), (text) => html`<span>took ${text}</span>`),
    html`<span>${shot.toolName}</span>`,
  ];
  yield html`<article id="s${number}" aria-labelledby="h${number}"${error === undefined ? undefined : new Html(' class="failed"')}>
<div class="title"><span class="number" aria-hidden="true">${number}</span>
<h2 id="h${number}"><span class="hidden">Action ${number}: </span><bdi>${actionText(shot)}</bdi></h2></div>
<p class="details">${details}</p>
${error === undefined ? undefined : html`<p class="error"><b>Failed:</b> <bdi>${error}</bdi></p>`}
${url === undefined && title === undefined ? undefined : html`<p class="page">${title === undefined ? undefined : html`<bdi class="name">${title}</bdi> `}${url === undefined ? undefined : link(url)}</p>`}
`.text;
  const pictures: [string, string, Picture][] =
    isSame && after !== undefined
      ? [['Before and after: no change', 'after', after]]
      : [
          ...(before === undefined ? [] : [['Before', 'before', before] as [string, string, Picture]]),
          ...(after === undefined ? [] : [['After', 'after', after] as [string, string, Picture]]),
        ];
  if (pictures.length === 0) yield '<p class="none">No picture was taken.</p>\n';
  else {
    yield `<div class="pictures ${isSame ? 'same' : `of${pictures.length}`}">\n`;
    for (const [label, name, picture] of pictures) yield* figure(shot, label, name, picture);
    yield '</div>\n';
  }
  const input = Object.entries(shot.input ?? {}).filter(([key]) => key !== 'url' && key !== 'title');
  if (input.length > 0)
    yield html`<details class="input"><summary>Input<span class="hidden"> of action ${number}</span></summary><pre>${JSON.stringify(Object.fromEntries(input), null, 2)}</pre></details>
`.text;
  yield '</article>\n';
}

/** Everything after the last frame. */
export const pageFoot = (version: string): string =>
  html`</main>
<footer class="wrap"><p>Created by aops ${version}. Times are in UTC. All pictures are part of this file; nothing is loaded from elsewhere.</p></footer>
</body>
</html>
`.text;

function* figure(shot: Shot, label: string, name: string, picture: Picture): Generator<string> {
  const id = `s${shot.number}-${name}`;
  const head = html`<figure id="${id}"><figcaption>${label}</figcaption>`.text;
  if ('missing' in picture) {
    yield html`${new Html(head)}<p class="missing">The picture is missing: ${picture.missing}.</p></figure>
`.text;
    return;
  }
  const { title, url } = pageOf(shot);
  const shows = title ?? url;
  const alt = `${label.split(':', 1)[0]} action ${shot.number}, ${actionText(shot)}${shows === undefined ? '' : `: ${shows}`}`;
  const size =
    picture.width === undefined || picture.height === undefined ? undefined : html` width="${picture.width}" height="${picture.height}"`;
  yield html`${new Html(head)}<a class="close" href="#s${shot.number}">Close</a><a class="zoom" href="#${id}" aria-label="${`Enlarge: ${alt}`}"><img alt="${alt}"${size} loading="lazy" decoding="async" src="data:${picture.mimeType};base64,`
    .text;
  yield picture.bytes.toString('base64');
  yield html`"></a></figure>
`.text;
}

const optional = (text: string | undefined, make: (text: string) => Html): Html[] => (text === undefined ? [] : [make(text)]);

const mark = (shot: Shot): Html | undefined => (errorOf(shot) === undefined ? undefined : html` <span class="mark">failed</span>`);

/** An address as a link if it leads to a page, otherwise as text. */
function link(url: string): Html {
  const text = html`<bdi>${url}</bdi>`;
  return /^https?:\/\//i.test(url) && URL.canParse(url)
    ? html`<a class="address" href="${url}" rel="noreferrer noopener">${text}</a>`
    : html`<span class="address">${text}</span>`;
}
