/** The path of the bridge program: next to the bundle. Code that runs from the sources sets the path of its bundled copy. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const bridgeProgram = { file: path.join(path.dirname(fileURLToPath(import.meta.url)), 'contained-bridge.js') };
