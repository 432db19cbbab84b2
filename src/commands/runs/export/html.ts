/** An export as one HTML page, piece by piece. The page has no scripts and loads nothing; all texts are escaped. */
import { formatDuration } from '../../../base/duration.ts';
import { Html, html } from '../../../base/html.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { callSummary, resultSummary } from '../../../cli/records/transcript.ts';
import type { FileRecord } from '../../../cli/run-record/sandbox-files.ts';
import type { Entry, FileDiff, RequestEntry, TextEntry, ToolEntry } from '../../../cli/run-record/timeline.ts';
import { formatSize } from '../../../terminal/size.ts';
import { between, clock, documentStart, fact, moment, statusClass } from '../page-parts.ts';
import { actionText, errorOf, pageOf } from '../shots.ts';
import type { ExportContent, ExportedChanges, ExportedShot } from './content.ts';
import { style } from './style.ts';
import { answerText, costText, diffCounts, diffLines, entryTitle, factsOf, partsOf, requestState } from './words.ts';

/** Longer texts are collapsed, and so are longer diffs. */
const maxOpenCharacters = 6_000;
const maxOpenDiffLines = 60;

export async function* htmlExport(content: ExportContent): AsyncGenerator<string, void, undefined> {
  const { head } = content;
  yield pageHead(content);
  yield '<section id="timeline" aria-labelledby="timeline-title">\n<h2 id="timeline-title">Timeline</h2>\n<ol class="timeline">\n';
  let number = 0;
  for await (const entry of content.timeline()) {
    number += 1;
    yield* entryItem(entry, number, head.run.created_at);
  }
  yield '</ol>\n';
  if (number === 0) yield '<p class="none">There are no messages.</p>\n';
  yield '</section>\n';
  if (content.changes !== undefined) yield* changesSection(content.changes);
  if (content.shotCount > 0) {
    yield '<section id="screenshots" aria-labelledby="shots-title">\n<h2 id="shots-title">Screenshots</h2>\n<div class="shots">\n';
    for await (const shot of content.screenshots()) yield* figure(shot);
    yield '</div>\n</section>\n';
  }
  if (content.files.length > 0) yield* filesSection(content.files);
  if (head.revision !== null && head.revision.procedure !== '')
    yield html`<section id="procedure" aria-labelledby="procedure-title">
<h2 id="procedure-title">Procedure</h2>
<details><summary>${`The procedure of revision ${head.revision.number ?? head.revision.id}`}</summary><pre>${head.revision.procedure}</pre></details>
</section>
`.text;
  yield* leftOutSection(content.leftOut());
  yield* redactionsSection(content);
  yield html`</main>
<footer class="wrap"><p>${`Created by ${content.creator} on `}${moment(content.exportedAt)}. Times are in UTC. The page contains no scripts and loads nothing.</p></footer>
</body>
</html>
`.text;
}

function pageHead({ head, changes, shotCount, files }: ExportContent): string {
  const { run, agent, pending_request: request } = head;
  const name = run.number === null ? run.id : `#${run.number}`;
  const title = run.title ?? `Run ${name}`;
  const links = [
    ['timeline', 'Timeline', true],
    ['changes', 'Changes', changes !== undefined],
    ['screenshots', 'Screenshots', shotCount > 0],
    ['files', 'Files', files.length > 0],
    ['procedure', 'Procedure', head.revision !== null && head.revision.procedure !== ''],
    ['left-out', 'Left out', true],
    ['redactions', 'Redactions', true],
  ] as const;
  const facts = [
    fact('Status', html`<span class="status ${statusClass(run.status)}">${run.status}</span>`),
    fact('Created', moment(run.created_at)),
    fact('Started', moment(run.started_at)),
    fact('Ended', moment(run.completed_at)),
    fact('Duration', between(run.started_at, run.completed_at)),
    ...factsOf(head).map(([label, value]) => fact(label, html`<bdi>${value}</bdi>`)),
    fact('Cost', costText(head)),
    fact('ID', html`<code>${run.id}</code>`),
  ];
  return html`${documentStart(`Run ${name}: ${title}`, style)}
<a class="skip" href="#timeline">Skip to the timeline</a>
<header>
<div class="wrap">
<p class="kicker">Record of a run</p>
<h1><bdi>${title}</bdi></h1>
<p class="sub">Run <code>${name}</code>${agent === null ? ' of a deleted agent' : html` of <bdi>${agent.name ?? agent.id}</bdi>`}</p>
<dl>${facts}</dl>
<nav aria-label="Contents"><ul>${links.filter(([, , exists]) => exists).map(([id, label]) => html`<li><a href="#${id}">${label}</a></li>`)}</ul></nav>
</div>
</header>
<main class="wrap">
${run.error === null ? undefined : html`<div class="box bad"><h2>The run ${run.status}</h2><p class="prose" dir="auto">${run.error}</p></div>`}
${request === null ? undefined : html`<div class="box"><h2>The run is waiting for an answer</h2><p class="prose" dir="auto">${request.title}</p></div>`}
`.text;
}

function* entryItem(entry: Entry, number: number, start: string | null): Generator<string> {
  const time = [clock(entry.at) ?? new Html(''), ...(start === null ? [] : [html`<span class="took">${offset(start, entry.at)}</span>`])];
  if (entry.kind === 'tool') yield* toolItem(entry, number, time);
  else if (entry.kind === 'request') yield requestItem(entry, number, time).text;
  else yield textItem(entry, number, time).text;
}

/** How long after the creation of the run. */
const offset = (start: string, at: string): string => {
  const milliseconds = Date.parse(at) - Date.parse(start);
  return Number.isFinite(milliseconds) && milliseconds >= 1_000 ? `+${formatDuration(milliseconds)}` : '';
};

const textItem = (entry: TextEntry, number: number, time: Html[]): Html =>
  html`<li id="e${number}" class="${entry.kind === 'message' || entry.kind === 'answer' ? entry.by : entry.kind}"><p class="who">${entryTitle(entry)} ${time}</p>${prose(entry.text)}</li>
`;

function prose(text: string): Html {
  if (text.length <= maxOpenCharacters) return html`<div class="prose" dir="auto">${text}</div>`;
  return html`<details class="long"><summary>${`${text.length.toLocaleString('en')} characters`}</summary><div class="prose" dir="auto">${text}</div></details>`;
}

/** A fenced block of a diff in Markdown, in which agents show what they want to change. */
const fencedDiff = /^(`{3,})diff\n([\s\S]*?)\n\1`*$/m;

/** A text with its fenced diffs as diffs. The groups of the pattern are among the parts: prose, fence, diff, prose, ... */
const proseWithDiffs = (text: string): Html[] =>
  text.split(fencedDiff).flatMap((part, index) => {
    if (index % 3 === 1 || part.trim() === '') return [];
    if (index % 3 === 0) return [prose(part.trim())];
    return [diffBlock({ path: /^\+\+\+ (?:b\/)?(.*)$/m.exec(part)?.[1] ?? 'Change', diff: part })];
  });

const signs = { done: ['✓', 'done'], failed: ['✗', 'failed'], unfinished: ['…', 'without a result'] } as const;

function* toolItem(entry: ToolEntry, number: number, time: Html[]): Generator<string> {
  const [sign, meaning] = signs[entry.status];
  const outcome = entry.status === 'failed' ? resultSummary({ error: entry.error ?? 'failed' }) : resultSummary({ result: entry.result });
  const took = entry.ended_at === null ? undefined : between(entry.at, entry.ended_at);
  const args = entry.arguments as Record<string, unknown> | undefined;
  yield html`<li id="e${number}" class="tool ${entry.status}"><details><summary><span class="sign" aria-hidden="true">${sign}</span><span class="hidden">${meaning}: </span><code><bdi>${callSummary({ name: entry.name, ...(args === undefined ? {} : { arguments: args }) })}</bdi></code> <span class="times">${time}${took === undefined ? '' : html`<span>took ${took}</span>`}</span>${outcome === '' ? '' : html`<span class="outcome"><bdi>${outcome}</bdi></span>`}</summary>
${blocks('Arguments', entry.arguments)}${blocks('Result', entry.result)}${blocks('Error', entry.error)}</details>
`.text;
  for (const diff of entry.diffs) yield diffBlock(diff).text;
  yield '</li>\n';
}

const blocks = (title: string, value: unknown): Html[] =>
  partsOf(title, value).map(([label, text]) => html`<p class="label">${label}</p><pre tabindex="0">${text}</pre>`);

function diffBlock({ path, diff }: FileDiff): Html {
  const lines = diffLines(diff);
  const open = lines.length <= maxOpenDiffLines ? new Html(' open') : undefined;
  const spans = lines.map(({ kind, line }) => html`<span class="${kind}">${line === '' ? ' ' : line}</span>`);
  return html`<details class="diff"${open}><summary><code><bdi>${path}</bdi></code> ${diffCounts(lines)}</summary><pre tabindex="0">${spans}</pre></details>
`;
}

function requestItem({ request }: RequestEntry, number: number, time: Html[]): Html {
  const questions = (request.questions ?? []).map(
    ({ question, options = [] }) =>
      html`${question === request.title ? '' : html`<p dir="auto">${question}</p>`}${options.length === 0 ? '' : html`<ul>${options.map(({ label, description }) => html`<li><bdi>${label}</bdi>${description === undefined ? '' : html`: <bdi>${description}</bdi>`}</li>`)}</ul>`}`,
  );
  return html`<li id="e${number}" class="request"><p class="who">${request.type === 'approval' ? 'Approval requested' : 'Question'} ${time}</p>
<div class="card"><h3 dir="auto">${request.title}</h3>${request.description === null || request.description === '' ? '' : proseWithDiffs(request.description)}${questions}
<p class="reply${request.status === 'answered' ? '' : ' open'}"><b>${requestState(request)}</b>${request.response === null ? '' : html` <span class="prose" dir="auto">${request.response}</span>`} ${answerText(request) === '' ? '' : html`<span class="took">${answerText(request)}</span>`}</p></div></li>
`;
}

function* changesSection({ repository, totalFiles, diffs = [] }: ExportedChanges): Generator<string> {
  yield html`<section id="changes" aria-labelledby="changes-title">
<h2 id="changes-title">Changes in the repository</h2>
<p>${`${pluralize(totalFiles, 'file')} changed. `}<bdi>${repository.source}</bdi>${repository.commit === null ? '' : html`, from commit <code>${repository.commit}</code>`}</p>
`.text;
  for (const { path, shown } of diffs) yield diffBlock({ path, diff: shown }).text;
  yield '</section>\n';
}

function* figure({ shot, picture }: ExportedShot): Generator<string> {
  const error = errorOf(shot);
  const { url, title } = pageOf(shot);
  const caption = `${shot.number}. ${actionText(shot)}`;
  yield html`<figure><figcaption><bdi>${caption}</bdi> ${clock(shot.startedAt)}${error === undefined ? '' : html` <span class="mark">failed: <bdi>${error}</bdi></span>`}${url === undefined && title === undefined ? '' : html`<br><span class="took"><bdi>${title ?? url ?? ''}</bdi></span>`}</figcaption>`
    .text;
  if (picture === undefined) yield '<p class="missing">No picture was taken.</p>';
  else if ('missing' in picture) yield html`<p class="missing">The picture is left out: ${picture.missing}.</p>`.text;
  else {
    yield html`<img alt="${caption}" loading="lazy" decoding="async" src="data:${picture.mimeType};base64,`.text;
    yield picture.bytes.toString('base64');
    yield '">';
  }
  yield '</figure>\n';
}

function* filesSection(files: readonly FileRecord[]): Generator<string> {
  yield '<section id="files" aria-labelledby="files-title">\n<h2 id="files-title">Files in the sandbox</h2>\n<table><thead><tr><th>Path</th><th class="count">Size</th><th class="sha">SHA-256</th></tr></thead><tbody>\n';
  for (const { path, size, sha256 } of files)
    yield html`<tr><td><code><bdi>${path}</bdi></code></td><td class="count">${formatSize(size)}</td><td class="sha"><code>${sha256 ?? 'not read'}</code></td></tr>
`.text;
  yield '</tbody></table>\n</section>\n';
}

function* leftOutSection(leftOut: readonly string[]): Generator<string> {
  yield '<section id="left-out" aria-labelledby="left-out-title">\n<h2 id="left-out-title">Left out</h2>\n';
  if (leftOut.length === 0) yield '<p>Nothing was left out.</p>\n';
  else yield html`<ul>${leftOut.map((sentence) => html`<li><bdi>${sentence}</bdi></li>`)}</ul>\n`.text;
  yield '</section>\n';
}

function* redactionsSection({ redaction }: ExportContent): Generator<string> {
  yield '<section id="redactions" aria-labelledby="redactions-title">\n<h2 id="redactions-title">Redactions</h2>\n';
  const { list } = redaction;
  if (list.length === 0) yield '<p>No secrets were found.</p>\n';
  else {
    yield '<table><thead><tr><th>What was replaced</th><th>Where</th><th class="count">Times</th></tr></thead><tbody>\n';
    for (const { kind, place, count } of list)
      yield html`<tr><td><bdi>${kind}</bdi></td><td>${place}</td><td class="count">${count}</td></tr>\n`.text;
    yield '</tbody></table>\n';
  }
  yield '</section>\n';
}
