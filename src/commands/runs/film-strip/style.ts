/** The style of a film strip, also for print. */
import { baseStyle } from '../page-style.ts';

export const style = `${baseStyle}
header::before { content: ""; display: block; height: 2rem; background: repeating-linear-gradient(90deg, transparent 0 .7rem, var(--hole) .7rem 1.5rem, transparent 1.5rem 2.2rem) 0 50% / 100% .8rem no-repeat, var(--film); }
nav { margin-top: 1.5rem; }
nav ol { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: .15rem 1.5rem; margin: 0; padding: 0; list-style: none; }
nav a { display: block; padding: .25rem 0; color: inherit; text-decoration: none; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
nav a:hover { color: var(--accent); text-decoration: underline; }
nav b { display: inline-block; min-width: 2.2ch; margin-right: .4rem; color: var(--quiet); font-weight: 500; font-variant-numeric: tabular-nums; }
nav details[open] > summary { margin-bottom: .5rem; }

main.wrap { padding-top: 1.75rem; padding-bottom: 1rem; }
article { margin: 0 0 1.75rem; padding: clamp(1rem, 2.2vw, 1.75rem); background: var(--card); border: 1px solid var(--line); border-radius: 14px; box-shadow: 0 1px 2px rgb(0 0 0 / 4%), 0 8px 24px -16px rgb(0 0 0 / 22%); }
article:target { border-color: var(--accent); }
.title { display: flex; align-items: baseline; gap: .75rem; }
.number { flex: none; min-width: 2.1rem; padding: .12rem .45rem; background: var(--film); color: #fff; border-radius: 5px; font-size: .9rem; text-align: center; }
h2 { margin: 0; font-size: 1.2rem; line-height: 1.35; font-weight: 640; min-width: 0; }
.details { display: flex; flex-wrap: wrap; margin: .4rem 0 0; color: var(--quiet); font-size: .88rem; font-variant-numeric: tabular-nums; }
.details > span:not(:last-child)::after { content: "\\B7"; padding: 0 .55em; }
.page { margin: .55rem 0 0; font-size: .95rem; }
.page .name { font-weight: 600; margin-right: .35em; }
.address { color: var(--quiet); }
a.address:hover { color: var(--accent); }
.error { margin: .8rem 0 0; padding: .6rem .9rem; border-left: 4px solid var(--bad); border-radius: 4px; background: var(--badback); color: var(--bad); }
article.failed { border-color: var(--bad); }
article.failed .number { background: var(--bad); color: var(--card); }
.pictures { display: grid; gap: 1.1rem; margin-top: 1.1rem; align-items: start; }
@media (min-width: 44rem) {
  .of2 { grid-template-columns: 1fr 1fr; }
  .of1 { grid-template-columns: minmax(0, 46rem); }
  .same { grid-template-columns: minmax(0, 30rem); }
}
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: .35rem; color: var(--quiet); font-size: .85rem; font-weight: 600; }
.zoom { display: block; cursor: zoom-in; border-radius: 8px; }
img { display: block; width: 100%; height: auto; max-height: 40rem; object-fit: cover; object-position: top; background: #fff; border: 1px solid var(--line); border-radius: 8px; }
.missing, .none { margin: 0; padding: 2rem 1rem; border: 1px dashed var(--line); border-radius: 8px; color: var(--quiet); text-align: center; }
article > .none { margin-top: 1.1rem; }
.close { display: none; }
figure:target { position: fixed; inset: 0; z-index: 3; display: flex; flex-direction: column; gap: .75rem; padding: clamp(.75rem, 2vw, 1.5rem); background: var(--veil); overflow: auto; }
figure:target figcaption { margin: 0 6rem 0 0; color: #ece9e2; }
figure:target .zoom { margin: auto; cursor: default; }
figure:target img { width: auto; max-width: 100%; max-height: none; object-fit: contain; }
figure:target .close { display: block; position: fixed; top: clamp(.6rem, 2vw, 1.25rem); right: clamp(.75rem, 2vw, 1.5rem); padding: .35rem .9rem; background: #ece9e2; color: #1d1c1a; border-radius: 999px; font-weight: 600; text-decoration: none; }
.input { margin-top: .9rem; font-size: .9rem; }

@media print {
  :root { --paper: #fff; --card: #fff; --ink: #000; --quiet: #555; --line: #ccc; --accent: #000; }
  nav, .skip, .input, header::before { display: none; }
  article { break-inside: avoid; box-shadow: none; }
  .of2 { grid-template-columns: 1fr 1fr; }
}
`;
