/** Everything that is loaded with the first prompt: the ready-made prompts, and our components for what they cannot do. */
export { input as line, password } from '@inquirer/prompts';
export { choose } from './choose.ts';
export { chooseSeveral } from './choose-several.ts';
export { confirm } from './confirm.ts';
export { write } from './write.ts';
