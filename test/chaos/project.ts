/** Where the project is: the suite is bundled into another folder, and started in the project. */
import process from 'node:process';

export const project = process.cwd();
