#!/usr/bin/env node
/**
 * Builds `build/aops`: a single file that contains Node, the bundle with its compiled code, and the libraries that cannot be bundled.
 * It is for the platform, and with the version, of the Node that runs this script (`npm run build:binary`, which builds the bundle).
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { rolldown } from 'rolldown';
import { filesBelow, packChunks, packGroup } from './pack.js';
import { recordCode } from './record.js';

/** Node looks for it in its own file, to learn that it contains a program. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const resource = 'NODE_SEA_BLOB';

const require = createRequire(import.meta.url);
const folder = path.resolve('build');
const parts = path.join(folder, 'parts');
const target = path.join(folder, process.platform === 'win32' ? 'aops.exe' : 'aops');

rmSync(folder, { recursive: true, force: true });
mkdirSync(path.join(parts, 'recorded'), { recursive: true });

const chunks = new Map(
  readdirSync('dist')
    .filter((name) => name.endsWith('.js'))
    .map((name) => [name, path.resolve('dist', name)]),
);
// The form of jq that contains the WebAssembly code as text.
chunks.set('jq-wasm', require.resolve('jq-wasm/inline'));

const groups = { service: serviceFiles(), browser: filesBelow('node_modules/playwright-core', 'node_modules/playwright-core', isNeeded) };
const hashes = Object.entries(groups).map(([name, files]) => packGroup(name, files, parts));
writeFileSync(path.join(parts, 'folder'), hashes.map((hash) => hash.slice(0, 16)).join('-'));

packChunks(chunks, path.join(parts, 'none'), parts);
await bundle('recording', path.join(parts, 'recording.cjs'));
recordCode(path.join(parts, 'recording.cjs'));
packChunks(chunks, path.join(parts, 'recorded'), parts);
await bundle('embedded', path.join(parts, 'program.cjs'));
inject();
writeFileSync(path.join(folder, 'THIRD-PARTY-LICENSES.txt'), licenses());
rmSync(parts, { recursive: true });

/** What the service reads from the disk. Only the native library of this platform is included. */
function serviceFiles() {
  const native = process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu';
  const libraries = ['libsql', '@neon-rs/load', 'detect-libc', ...readdirSync('node_modules/@libsql').map((name) => `@libsql/${name}`)];
  return [
    ...filesBelow('dist', '', (name) => /^(team-page\/|package\.json$|(render-worker|database-reader|contained-bridge)\.js$)/.test(name)),
    ...libraries
      .filter((name) => !name.includes('linux') || name.endsWith(native))
      .flatMap((name) => filesBelow(path.join('node_modules', name), `node_modules/${name}`, isNeeded)),
  ];
}

/** Types and documentation are not needed at run time; licences are. */
function isNeeded(name) {
  return !/\.d\.[cm]?ts$|\/README\.md$|\.map$/i.test(name);
}

/** Bundles the entry point with one of the two ways to read its parts. */
async function bundle(reader, file) {
  const bundled = await rolldown({
    input: 'executable/main.ts',
    platform: 'node',
    resolve: { alias: { './embedded.ts': path.resolve('executable', `${reader}.ts`) } },
  });
  await bundled.write({ file, format: 'cjs', minify: true });
  await bundled.close();
}

/** Copies Node, and adds the parts to it. */
function inject() {
  const assets = ['index', 'chunks', 'code', 'folder', ...Object.keys(groups).flatMap((name) => [`${name}.json`, `${name}.gz`])];
  const config = path.join(parts, 'config.json');
  const blob = path.join(parts, 'blob');
  writeFileSync(
    config,
    JSON.stringify({
      main: path.join(parts, 'program.cjs'),
      output: blob,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      assets: Object.fromEntries(assets.map((name) => [name, path.join(parts, name)])),
    }),
  );
  run(process.execPath, ['--experimental-sea-config', config]);
  copyFileSync(process.execPath, target);
  chmodSync(target, 0o755);
  // macOS does not start a changed program with the old signature.
  if (process.platform === 'darwin') run('codesign', ['--remove-signature', target]);
  const segment = process.platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : [];
  run(process.execPath, [require.resolve('postject/dist/cli.js'), target, resource, blob, '--sentinel-fuse', fuse, ...segment]);
  if (process.platform === 'darwin') run('codesign', ['--sign', '-', target]);
}

function run(program, args) {
  const { status, error, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
}

/** The licences of the bundled libraries, of the packages in the executable, and of Node. */
function licenses() {
  const places = ['../LICENSE', '../share/doc/nodejs/LICENSE', '../share/doc/node/LICENSE', 'LICENSE'];
  const file = places.map((place) => path.resolve(path.dirname(process.execPath), place)).find((name) => existsSync(name));
  if (file === undefined) throw new Error(`The licence of Node is not installed with ${process.execPath}. Use Node from nodejs.org.`);
  return `${readFileSync('dist/THIRD-PARTY-LICENSES.txt', 'utf8')}\n${'='.repeat(80)}\nNode.js ${process.version}\n\n${readFileSync(file, 'utf8')}`;
}
