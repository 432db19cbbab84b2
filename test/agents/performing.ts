/** A model that uses the tool `remember` of our service, whose name each agent changes in its own way. */
import type { Script, Step } from './model-server.ts';

/** Memory files of an agent. */
export const fact = { path: 'notes.md', content: 'Acme pays late.' };
export const otherFact = { path: 'plans.md', content: 'Acme gets a reminder.' };

/** A model that performs these steps after each prompt. */
export function performing(...list: (Step | { remember: object })[]): Script {
  // How many results there were when the model searched for the tool.
  let searchedAt = Number.POSITIVE_INFINITY;
  return ({ tools, results }) => {
    if (results.length === 0) searchedAt = Number.POSITIVE_INFINITY;
    const step = list[results.length - (results.length > searchedAt ? 1 : 0)] ?? { say: 'That is all.' };
    if (!('remember' in step)) return step;
    const name = tools.find((tool) => tool.endsWith('remember'));
    if (name === undefined && results.length <= searchedAt) {
      // Codex does not offer tools before the model has searched for them, and others can still be connecting to them.
      searchedAt = results.length;
      return { call: 'tool_search', with: { query: 'remember' } };
    }
    return { call: name ?? 'mcp__aops__remember', with: { ...step.remember } };
  };
}
