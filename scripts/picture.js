#!/usr/bin/env node
/**
 * Draws the README's picture: `npm run picture` (build first). The program runs on a real pseudo-terminal against a local service of
 * its own, and the content of the terminal becomes an SVG, once in light and once in dark colours.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { spawn } from '@lydell/node-pty';
import headless from '@xterm/headless';

const columns = 76;
const rows = 17;
const cell = { width: 8.4, height: 19 };
const margin = 18;
const command = 'aops runs start --agent invoice-check --upload invoices.csv --watch';

/** Colours of the terminal: background, text, and the eight of ANSI. */
const themes = {
  light: {
    background: '#ffffff',
    border: '#d0d7de',
    text: '#24292f',
    quiet: '#6e7781',
    ansi: ['#24292f', '#cf222e', '#116329', '#7d4e00', '#0550ae', '#8250df', '#1b7c83', '#6e7781'],
  },
  dark: {
    background: '#0d1117',
    border: '#30363d',
    text: '#e6edf3',
    quiet: '#8b949e',
    ansi: ['#484f58', '#ff7b72', '#3fb950', '#d29922', '#58a6ff', '#bc8cff', '#39c5cf', '#b1bac4'],
  },
};

const root = path.resolve(import.meta.dirname, '..');
const example = path.join(root, 'examples/invoice-check');
const folder = await mkdtemp(path.join(tmpdir(), 'aops-picture-'));
const inheritedEntries = Object.entries(process.env).filter(([name]) => !/^(AOPS_|NODE_|NO_COLOR|FORCE_COLOR|CI$)/.test(name));
const env = {
  ...Object.fromEntries(inheritedEntries),
  ...Object.fromEntries(['CONFIG', 'DATA', 'CACHE'].map((kind) => [`AOPS_${kind}_DIR`, path.join(folder, kind)])),
  HOME: folder,
  TERM: 'xterm-256color',
  LANG: 'C.UTF-8',
};

const downKey = '\u001b[B';

/** Runs aops on a terminal until `until` accepts what it shows; without `until`, to its end. Presses "down" once `ready` returns true. */
function onTerminal(args, { ready = () => false, until } = {}) {
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
  const pty = spawn(process.execPath, [path.join(root, 'bin/aops.js'), ...args], { cols: columns, rows, cwd: example, env });
  return new Promise((resolve, reject) => {
    let isDone = false;
    let isPressed = false;
    pty.onData((data) =>
      terminal.write(data, () => {
        if (!isPressed && ready(textOf(terminal))) {
          isPressed = true;
          pty.write(downKey);
        }
        if (isDone || until === undefined || !until(textOf(terminal))) return;
        isDone = true;
        resolve({ terminal, end: () => pty.kill() });
      }),
    );
    pty.onExit(({ exitCode }) => {
      if (until === undefined && exitCode === 0) resolve({ terminal, end: () => undefined });
      else if (!isDone) reject(new Error(`aops ${args.join(' ')} ended with ${exitCode}:\n${textOf(terminal)}`));
    });
  });
}

const linesOf = ({ buffer }) => Array.from({ length: rows }, (_, row) => buffer.active.getLine(buffer.active.viewportY + row));
const textOf = (terminal) =>
  linesOf(terminal)
    .map((line) => line?.translateToString(true) ?? '')
    .join('\n');

/** A line as pieces of text, each with a single style. */
function piecesOf(line) {
  const pieces = [];
  for (let x = 0; x < columns; x += 1) {
    const cell = line.getCell(x);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const style = {
      color: cell.isFgPalette() ? cell.getFgColor() % 8 : undefined,
      dim: cell.isDim() !== 0,
      bold: cell.isBold() !== 0,
    };
    const last = pieces.at(-1);
    const text = cell.getChars() || ' ';
    if (last && JSON.stringify(last.style) === JSON.stringify(style)) last.text += text;
    else pieces.push({ x, style, text });
  }
  return pieces.map((piece) => ({ ...piece, text: piece.text.trimEnd() })).filter(({ text }) => text !== '');
}

/** Escapes text. SVG would collapse several spaces, so they become non-breaking ones. */
const escapeXml = (text) => text.replace(/[&<>" ]/g, (character) => `&#${character === ' ' ? 160 : character.charCodeAt(0)};`);

function picture(lines, theme) {
  const width = Math.round(columns * cell.width + 2 * margin);
  const height = Math.round(lines.length * cell.height + 2 * margin);
  const texts = lines.flatMap((pieces, row) =>
    pieces.map(({ x, style, text }) => {
      const fill = style.dim ? theme.quiet : style.color === undefined ? theme.text : theme.ansi[style.color];
      const place = `x="${(margin + x * cell.width).toFixed(1)}" y="${(margin + (row + 0.75) * cell.height).toFixed(1)}"`;
      const length = `textLength="${([...text].length * cell.width).toFixed(1)}"`;
      return `<text ${place} ${length} fill="${fill}"${style.bold ? ' font-weight="600"' : ''}>${escapeXml(text)}</text>`;
    }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A run that asks a question at the terminal">
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="9" fill="${theme.background}" stroke="${theme.border}"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">
${texts.join('\n')}
</g>
</svg>
`;
}

try {
  await onTerminal(['local', 'up', '--ephemeral', '--exec', 'host']);
  await onTerminal(['agents', 'create', 'invoice-check', '--procedure', 'procedure.yaml']);
  const args = command.split(' ').slice(1);
  const { terminal, end } = await onTerminal(args, {
    // The question is visible and accepts keys.
    ready: (text) => text.includes('Which vendor') && text.includes('⏎ confirm'),
    until: (text) => text.includes('❯ Acme GmbH'),
  });
  const lines = linesOf(terminal).map((line) => (line === undefined ? [] : piecesOf(line)));
  while (lines.at(-1)?.length === 0) lines.pop();
  const prompt = [
    { x: 0, style: { color: 2 }, text: '$' },
    { x: 2, style: { bold: true }, text: command },
  ];
  await mkdir(path.join(root, 'docs/images'), { recursive: true });
  for (const [name, theme] of Object.entries(themes))
    await writeFile(path.join(root, `docs/images/watch-${name}.svg`), picture([prompt, ...lines], theme));
  end();
} finally {
  await onTerminal(['local', 'down']).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
}
process.exit();
