/** The path of the bridge's program: next to the bundle. Whoever runs the sources specifies where it has been bundled to. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const bridgeProgram = { file: path.join(path.dirname(fileURLToPath(import.meta.url)), 'contained-bridge.js') };
