/** The style of pages: light and dark, from phones to wide screens, and on paper. A requested theme overrides the reader's system setting. */

const light =
  'color-scheme: light; --paper: #f6f6f4; --card: #fff; --ink: #1b1c1f; --quiet: #5d6068; --line: #dedfe3; --bar: #2f5fbd; --track: #e8ebf2; --good: #1b6b3a; --bad: #b3261e; --going: #8a4b00;';
const dark =
  'color-scheme: dark; --paper: #121316; --card: #1b1d21; --ink: #e8e9ec; --quiet: #a2a6b0; --line: #33363d; --bar: #7ea6ff; --track: #2a2d34; --good: #7fd1a0; --bad: #ff9a91; --going: #f0b266;';

export const style = `
:root { ${light} }
@media (prefers-color-scheme: dark) { :root { ${dark} } }
:root[data-theme="light"] { ${light} }
:root[data-theme="dark"] { ${dark} }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
.wrap { max-width: 64rem; margin: 0 auto; padding: 0 clamp(.9rem, 3vw, 2rem); }
.skip { position: absolute; left: 1rem; top: -5rem; padding: .5rem 1rem; background: var(--card); border-radius: 6px; }
.skip:focus { top: 1rem; }
:focus-visible { outline: 3px solid var(--bar); outline-offset: 3px; border-radius: 4px; }
header { padding: clamp(1.5rem, 4vw, 2.75rem) 0 .6rem; }
h1 { margin: 0; font-size: clamp(1.4rem, 1.1rem + 1.8vw, 2.1rem); line-height: 1.2; letter-spacing: -.015em; text-wrap: balance; }
.as-of { margin: .4rem 0 0; color: var(--quiet); font-size: .9rem; }
main { padding-top: .75rem; padding-bottom: 2.5rem; }
section { margin: 0 0 1.1rem; padding: clamp(1rem, 2.4vw, 1.6rem); background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
h2 { margin: 0 0 .9rem; font-size: 1.1rem; line-height: 1.3; text-wrap: balance; }
p { margin: 0 0 .7rem; }
p:last-child { margin-bottom: 0; }
.note { margin: .8rem 0 0; color: var(--quiet); font-size: .88rem; }
.none { color: var(--quiet); }
.number { margin: 0; font-size: clamp(2.2rem, 8vw, 3.4rem); font-weight: 680; line-height: 1.05; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11.5rem, 100%), 1fr)); gap: 1.1rem; margin: 0 0 1.1rem; }
.figures section { display: flex; flex-direction: column; justify-content: space-between; margin: 0; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
.rows { font-size: .94rem; }
.rows th, .rows td { padding: .5rem .9rem .5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; min-width: 5.5rem; }
.rows th:first-child, .rows td:first-child { min-width: 9rem; }
.rows tr > :last-child { padding-right: 0; }
.rows tbody tr:last-child td { border-bottom: 0; }
.rows th { color: var(--quiet); font-size: .82rem; font-weight: 600; }
.rows .amount, .bars .amount { text-align: right; white-space: nowrap; }
.rows time { white-space: nowrap; }
.bars th { width: 1%; min-width: min(8rem, 30vw); padding: .3rem .9rem .3rem 0; font-weight: 500; text-align: left; overflow-wrap: break-word; }
.bars td { padding: .3rem 0; }
.bars .amount { width: 1%; padding-left: .9rem; font-weight: 600; }
.bars .label { display: block; width: max-content; max-width: min(22rem, 40vw); }
.bars .drawn { min-width: 3rem; }
svg { display: block; width: 100%; }
.bars svg { height: 1.15rem; }
.track { fill: var(--track); }
.fill { fill: var(--bar); }
.over { fill: var(--bad); }
.plot { height: 11rem; border-bottom: 1px solid var(--line); }
.line { fill: none; stroke: var(--bar); stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round; }
.area { fill: var(--bar); opacity: .14; }
.point { stroke: var(--bar); stroke-width: 9; stroke-linecap: round; }
.scale { display: flex; justify-content: space-between; gap: 1rem; margin: .35rem 0 0; color: var(--quiet); font-size: .82rem; font-variant-numeric: tabular-nums; }
.scale > :only-child { margin: 0 auto; }
.peak { margin: 0 0 .35rem; color: var(--quiet); font-size: .82rem; }
details { margin-top: .9rem; font-size: .92rem; }
summary { width: fit-content; padding: .15rem 0; color: var(--bar); cursor: pointer; }
.status { white-space: nowrap; }
.status::before { content: ""; display: inline-block; width: .55em; height: .55em; margin-right: .45em; border-radius: 50%; background: currentcolor; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.going { color: var(--going); }
@media (max-width: 36rem) {
  .bars.usage tr { display: grid; grid-template-columns: 1fr auto; padding: 0 0 .6rem; }
  .bars.usage tr > * { width: auto; padding-bottom: 0; }
  .bars.usage .drawn { grid-row: 2; grid-column: 1 / -1; }
  .bars.usage .drawn:empty { display: none; }
  .stack table, .stack tbody, .stack tr, .stack td { display: block; }
  .stack thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stack tbody tr { padding: .65rem 0; border-bottom: 1px solid var(--line); }
  .stack tbody tr:first-child { padding-top: 0; }
  .stack tbody tr:last-child { padding-bottom: 0; border-bottom: 0; }
  .stack tbody td { display: grid; grid-template-columns: 5.5rem 1fr; align-items: baseline; min-width: 0; padding: .05rem 0; border: 0; }
  .stack tbody td.amount { text-align: left; }
  .stack tbody td::before { content: attr(data-label); color: var(--quiet); font-size: .88em; }
  .stack tbody td:first-child { display: block; padding-bottom: .2rem; font-weight: 600; }
  .stack tbody td:first-child::before, .stack tbody td:empty { display: none; }
}
@page { margin: 16mm 14mm; }
@media print {
  body { background: var(--card); }
  .skip, details { display: none; }
  .wrap { max-width: none; padding: 0; }
  section, .figures { break-inside: avoid; }
  section { padding: .9rem 1.1rem; }
  h2 { break-after: avoid; }
  section.long { break-inside: auto; }
  tr { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;
