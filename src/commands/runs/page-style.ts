/** The style that the pages of this group share: light and dark, for small and wide screens. */
export const baseStyle = `
:root { color-scheme: light dark; --paper: #f4f3ef; --card: #fff; --ink: #1d1c1a; --quiet: #66635c; --line: #dddad2; --film: #1d1c1a; --hole: #f4f3ef; --accent: #9a4a12; --good: #1b6b3a; --bad: #b3261e; --badback: #fdecea; --veil: #1d1c1a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #141312; --card: #1f1e1c; --ink: #ece9e2; --quiet: #a39f95; --line: #34322e; --film: #000; --hole: #34322e; --accent: #f0a266; --good: #7fd1a0; --bad: #ff9a91; --badback: #3a1d1a; --veil: #0a0a09; }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1.25rem; -webkit-text-size-adjust: 100%; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
.wrap { max-width: 82rem; margin: 0 auto; padding: 0 clamp(.9rem, 3vw, 2.5rem); }
a { color: var(--accent); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 4px; }
code, pre, .number { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: 1rem; top: -5rem; padding: .5rem 1rem; background: var(--card); border-radius: 6px; z-index: 2; }
.skip:focus { top: 1rem; }
header { padding: 0 0 1.5rem; border-bottom: 1px solid var(--line); background: var(--card); }
.kicker { margin: 1.5rem 0 0; color: var(--accent); font-size: .8rem; font-weight: 650; letter-spacing: .12em; text-transform: uppercase; }
h1 { margin: .1rem 0 1rem; font-size: clamp(1.25rem, 1rem + 1.6vw, 1.9rem); line-height: 1.25; font-weight: 680; letter-spacing: -.01em; }
h1 code { font-size: .82em; font-weight: 500; letter-spacing: 0; }
dl { display: flex; flex-wrap: wrap; gap: .75rem 2.25rem; margin: 0; }
dt { color: var(--quiet); font-size: .8rem; }
dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
.status::before { content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .45em; border-radius: 50%; background: currentcolor; }
.completed { color: var(--good); }
.failed.status, .interrupted, .mark { color: var(--bad); }
.going { color: var(--accent); }
summary { width: fit-content; padding: .25rem .1rem; color: var(--accent); cursor: pointer; }
pre { margin: .35rem 0 0; padding: .8rem 1rem; background: var(--paper); border-radius: 8px; font-size: .85rem; white-space: pre-wrap; }
footer.wrap { padding-bottom: 2.5rem; color: var(--quiet); font-size: .85rem; }
`;
