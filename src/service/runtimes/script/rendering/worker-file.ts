/** Where the program of the workers is: beside the bundle. What runs the sources says where it has bundled it to. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const workerProgram = { file: path.join(path.dirname(fileURLToPath(import.meta.url)), 'render-worker.js') };
