/**
 * docs/images/structure.svg: the folders of src in layers, with arrows for what they import from each other. The places of the boxes are
 * fixed here; the figures come from the source. A folder or an import without a place in the picture is an error, so it stays complete.
 */
import { type Graph, type Imports, importsBetween } from './imports.ts';
import { arrow, type Box, drawing, heading, type Point, textBox } from './svg.ts';

const width = 900;

/** The folders of src; each is above everything that it imports. */
const folders: Readonly<Record<string, Box & { notes: readonly string[] }>> = {
  'main.ts': { x: 20, y: 46, width: 860, height: 34, notes: [] },
  commands: { x: 20, y: 114, width: 830, height: 52, notes: ['one folder for each command group'] },
  cli: { x: 390, y: 214, width: 310, height: 52, notes: ['what commands build on'] },
  service: { x: 20, y: 314, width: 140, height: 154, notes: ['the local service,', 'see below'] },
  watch: { x: 210, y: 314, width: 130, height: 52, notes: ['runs as events'] },
  client: { x: 350, y: 416, width: 210, height: 52, notes: ['requests and transfers'] },
  terminal: { x: 604, y: 416, width: 150, height: 52, notes: ['output and prompts'] },
  config: { x: 762, y: 416, width: 118, height: 52, notes: ['settings'] },
  interface: { x: 176, y: 518, width: 416, height: 52, notes: ['the contract: operations and schemas'] },
  base: { x: 20, y: 604, width: 860, height: 52, notes: [] },
};

const place = (folder: string): Box => folders[folder] as Box;
const middle = (folder: string): number => place(folder).y + place(folder).height / 2;
const bottom = (folder: string): number => place(folder).y + place(folder).height;

/** Straight down, at a place. */
const arrowDown = (from: string, x: number, to: string): Point[] => [
  [x, bottom(from)],
  [x, place(to).y],
];

/** The ways of the arrows. Imports of base have none: they are listed in its box. */
const ways: Readonly<Record<string, readonly Point[]>> = {
  'main.ts -> commands': arrowDown('main.ts', 120, 'commands'),
  'main.ts -> cli': [
    [866, bottom('main.ts')],
    [866, middle('cli') - 12],
    [700, middle('cli') - 12],
  ],
  'commands -> cli': arrowDown('commands', 545, 'cli'),
  'commands -> service': arrowDown('commands', 90, 'service'),
  'commands -> interface': arrowDown('commands', 190, 'interface'),
  'commands -> watch': arrowDown('commands', 235, 'watch'),
  'commands -> client': arrowDown('commands', 366, 'client'),
  'commands -> terminal': arrowDown('commands', 730, 'terminal'),
  'commands -> config': arrowDown('commands', 836, 'config'),
  'cli -> watch': [
    [390, middle('cli')],
    [300, middle('cli')],
    [300, place('watch').y],
  ],
  'cli -> client': arrowDown('cli', 440, 'client'),
  'cli -> interface': arrowDown('cli', 580, 'interface'),
  'cli -> terminal': arrowDown('cli', 650, 'terminal'),
  'cli -> config': [
    [700, middle('cli') + 12],
    [796, middle('cli') + 12],
    [796, place('config').y],
  ],
  'watch -> client': [
    [300, bottom('watch')],
    [300, middle('client')],
    [350, middle('client')],
  ],
  'watch -> interface': arrowDown('watch', 240, 'interface'),
  'client -> interface': arrowDown('client', 440, 'interface'),
  'service -> interface': [
    [90, bottom('service')],
    [90, middle('interface')],
    [176, middle('interface')],
  ],
};

/** The layers of the service, from the top, by the folders in them. */
const layers: readonly (readonly [name: string, note: string, folders: readonly string[]])[] = [
  ['service.ts', 'wires everything together', ['service.ts']],
  ['api', 'handlers of all operations', ['api']],
  ['mcp, oauth, page', 'other ways in', ['mcp', 'oauth', 'page']],
  ['http', 'transport and pipeline', ['http']],
  ['engine, operating', 'jobs and drivers; metrics', ['engine', 'operating']],
  [
    'views, events, artifacts, evaluation, plans, backup, exports',
    'read and derive',
    ['views', 'events', 'artifacts', 'evaluation', 'plans', 'backup', 'exports'],
  ],
  ['store', 'queries, by group', ['store']],
  [
    'runtimes, contained, sandbox, repositories, files, browser, connections, outbound, words',
    'execute and connect',
    ['runtimes', 'contained', 'sandbox', 'repositories', 'files', 'browser', 'connections', 'outbound', 'words'],
  ],
  ['store/database', 'opens, commits, migrates', ['store/database']],
];

const layerTop = 722;
const layerStep = 84;
const layerBox = (index: number): Box => ({ x: 20, y: layerTop + index * layerStep, width: 860, height: 56 });

/** The picture. Throws when a folder or an import has no place in it. */
export function structurePicture(imports: Imports): string {
  const height = layerTop + layers.length * layerStep;
  return drawing(width, height, 'The folders of src in layers, with the number of imports between them', [
    heading(20, 30, 'src'),
    ...sourceArrows(importsBetween(imports, folderOf)),
    ...sourceBoxes(imports),
    heading(20, layerTop - 16, 'src/service'),
    ...serviceLayers(importsBetween(imports, layerOf)),
  ]);
}

const folderOf = (file: string): string | undefined => file.split('/')[0];

function sourceBoxes(imports: Imports): string[] {
  const files = new Map<string, number>();
  for (const file of imports.keys()) files.set(folderOf(file) as string, (files.get(folderOf(file) as string) ?? 0) + 1);
  for (const folder of files.keys()) requireKnown(folder in folders, `the folder ${folder}`);
  const ofBase = [...importsBetween(imports, folderOf)].flatMap(([from, counts]) =>
    counts.has('base') ? [`${from} ${counts.get('base')}`] : [],
  );
  return Object.entries(folders).map(([folder, { notes, ...box }]) => {
    const count = files.get(folder) ?? 0;
    const size = folder.endsWith('.ts') ? '' : `${count} files`;
    return textBox(
      box,
      folder,
      size,
      folder === 'base' ? [`imported by ${ofBase.join(', ')}`] : notes,
      folder === 'base' ? 'below' : 'box',
    );
  });
}

function sourceArrows(graph: Graph): string[] {
  return [...graph].flatMap(([from, counts]) =>
    [...counts].flatMap(([to, count]) => {
      if (to === 'base') return [];
      const points = requireKnown(ways[`${from} -> ${to}`], `the import of ${to} from ${from}`);
      return [arrow(points, count)];
    }),
  );
}

/** The layer of a file of the service. Files next to the folders, such as errors.ts, are shared by all layers and left out. */
function layerOf(file: string): string | undefined {
  const [folder, first = '', second] = file.split('/');
  if (folder !== 'service' || (second === undefined && first !== 'service.ts')) return undefined;
  const part = first === 'store' && second === 'database' ? 'store/database' : first;
  return requireKnown(
    layers.find(([, , parts]) => parts.includes(part)),
    `the folder service/${part}`,
  )[0];
}

function serviceLayers(graph: Graph): string[] {
  const names = layers.map(([name]) => name);
  for (const [from, counts] of graph)
    for (const to of counts.keys())
      requireKnown(names.indexOf(from) < names.indexOf(to), `the import of ${to} from ${from} in the service`);
  return layers.flatMap(([name, note], index) => {
    const counts = graph.get(name) ?? new Map<string, number>();
    const box = layerBox(index);
    const next = names[index + 1];
    const toNext = next === undefined ? 0 : (counts.get(next) ?? 0);
    const furtherImports = names.slice(index + 2).flatMap((to) => (counts.has(to) ? [`${shortName(to)} ${counts.get(to)}`] : []));
    const notes = furtherImports.length === 0 ? note : `${note}; further imports: ${furtherImports.join(', ')}`;
    const last = index === layers.length - 1;
    const way: Point[] = [
      [450, box.y + box.height],
      [450, box.y + layerStep],
    ];
    return [textBox(box, name, '', [notes], last ? 'below' : 'box'), ...(toNext > 0 ? [arrow(way, toNext)] : [])];
  });
}

/** `views, …` for a layer of several folders. */
const shortName = (name: string): string => (name.includes(',') ? `${name.split(',')[0]}…` : name);

/** The value, which has to be there. */
function requireKnown<T>(value: T | undefined | false, description: string): T {
  if (value === undefined || value === false)
    throw new Error(`The picture of the structure has no place for ${description}: add it to scripts/structure/structure.ts.`);
  return value;
}
