/** What is loaded with the first prompt: the components, and with them @inquirer/core. */
export { choose } from './choose.ts';
export { chooseSeveral } from './choose-several.ts';
export { write } from './write.ts';
