/** The style of an exported run, also for print. */
import { baseStyle } from '../page-style.ts';

export const style = `${baseStyle}
:root { --goodback: #e8f3ec; --rail: #c9c5bb; }
@media (prefers-color-scheme: dark) { :root { --goodback: #16301f; --rail: #45423c; } }
header::before { content: ""; display: block; height: .35rem; background: var(--accent); }
.sub { margin: -.6rem 0 1rem; color: var(--quiet); }
dl > div { min-width: 0; max-width: 100%; }
nav { margin-top: 1.25rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: 0; list-style: none; font-size: .95rem; }
main.wrap { max-width: 64rem; padding-top: 1.5rem; padding-bottom: 1rem; }
header .wrap, footer.wrap { max-width: 64rem; }
section { margin: 0 0 2.25rem; }
h2 { margin: 0 0 .9rem; font-size: 1.25rem; line-height: 1.3; font-weight: 660; }
h3 { margin: 0; font-size: 1rem; line-height: 1.4; font-weight: 640; }
.box { margin: 0 0 1.5rem; padding: .8rem 1.1rem; border-left: 4px solid var(--accent); border-radius: 6px; background: var(--card); }
.box.bad { border-color: var(--bad); background: var(--badback); }
.box p { margin: .2rem 0 0; }
.prose { white-space: pre-wrap; }
.timeline { margin: 0; padding: 0 0 0 1.1rem; border-left: 2px solid var(--rail); list-style: none; }
.timeline > li { position: relative; margin: 0 0 1rem; }
.timeline > li::before { content: ""; position: absolute; left: calc(-1.1rem - 6px); top: .5rem; width: 10px; height: 10px; border-radius: 50%; background: var(--rail); }
.timeline > li.person::before, .timeline > li.request::before { background: var(--accent); }
.timeline > li.failed::before { background: var(--bad); }
.who { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .75rem; margin: 0; font-weight: 640; }
.times > * { margin-left: .5rem; }
.who time, .times time, .took { color: var(--quiet); font-size: .85rem; font-weight: 400; font-variant-numeric: tabular-nums; }
.thought, .plan, .notice { color: var(--quiet); }
.thought .prose { font-style: italic; }
.person > .prose, .request > .card { margin-top: .25rem; padding: .6rem .9rem; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
.request > .card { border-color: var(--accent); }
.card p { margin: .25rem 0 0; }
.card ul { margin: .25rem 0 0; padding-left: 1.2rem; }
.reply { margin-top: .6rem !important; padding: .45rem .7rem; border-radius: 6px; background: var(--goodback); }
.reply.open { background: var(--badback); }
.tool > details > summary { width: auto; padding: .1rem 0; color: inherit; }
.tool code { font-size: .9em; }
.tool .sign { display: inline-block; min-width: 1.3em; font-weight: 700; color: var(--good); }
.tool.failed .sign, .tool.failed .outcome { color: var(--bad); }
.tool.unfinished .sign { color: var(--quiet); }
.outcome { display: block; margin-left: 1.3em; color: var(--quiet); font-size: .9rem; }
.label { margin: .6rem 0 0; color: var(--quiet); font-size: .85rem; font-weight: 600; }
pre { margin: .3rem 0 0; max-height: 36rem; overflow: auto; overflow-wrap: anywhere; border: 1px solid var(--line); background: var(--card); }
details > pre, details > .label { margin-left: 1.3em; }
.diff > summary { color: var(--quiet); font-size: .9rem; }
.diff > pre { margin-left: 0; padding: .5rem 0; white-space: pre; overflow-wrap: normal; }
.diff span { display: block; min-width: max-content; padding: 0 .9rem; }
.diff .added { background: var(--goodback); color: var(--good); }
.diff .removed { background: var(--badback); color: var(--bad); }
.diff .range, .diff .file { color: var(--quiet); }
.long > summary { font-size: .9rem; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th { padding: .3rem .6rem .3rem 0; color: var(--quiet); text-align: left; font-weight: 600; }
td { padding: .3rem .6rem .3rem 0; border-top: 1px solid var(--line); vertical-align: top; }
.count { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td code { font-size: .85em; }
.shots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1.25rem; }
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: .35rem; font-size: .9rem; }
img { display: block; width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 8px; }
.missing, .none { margin: 0; padding: 1.25rem 1rem; border: 1px dashed var(--line); border-radius: 8px; color: var(--quiet); text-align: center; }
@media (max-width: 30rem) { .hash { display: block; } th.sha, td.sha { font-size: .75rem; } td.sha code { font-size: inherit; } }
@media print {
  :root { --paper: #fff; --card: #fff; --ink: #000; --quiet: #555; --line: #ccc; --accent: #000; --goodback: #eee; --badback: #f4f4f4; }
  nav, .skip { display: none; }
  pre { max-height: none; overflow: visible; white-space: pre-wrap; }
  .diff > pre { white-space: pre-wrap; }
  .diff span { min-width: 0; }
  details::details-content { content-visibility: visible; block-size: auto; }
  figure, .box { break-inside: avoid; }
}
`;
