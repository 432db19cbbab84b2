/** Carries out one command on a draft and describes what it changed. */
import { isMap, isScalar, isSeq, YAMLMap } from 'yaml';
import { RefusalError } from '../../../words/outcome.ts';
import { idPattern } from '../../document/patterns.ts';
import type { Path } from '../../document/source.ts';
import { stepKinds } from '../schema.ts';
import type { Command, Place } from './commands.ts';
import { findStep, findSteps, type Search, stepLabel } from './find.ts';
import { makeStep } from './make-step.ts';
import { scheduleWords } from './schedule.ts';
import { keysOf, pathOf, valueFor } from './values.ts';

type Of<Do extends Command['do']> = Extract<Command, { do: Do }>;

/** Descriptions of the changes, one for each. @throws OpenQuestion, PartDropped, RefusalError */
export function applyCommand(search: Search, command: Command): string[] {
  const { draft } = search;
  switch (command.do) {
    case 'add':
      return add(search, command);
    case 'remove': {
      const steps = findSteps(search, command.steps);
      const changes = steps.map((step) => `Removed ${stepLabel(draft, step)}`);
      for (const step of steps) draft.remove(step);
      return changes;
    }
    case 'move': {
      const step = findStep(search, command.step);
      const place = command.place ?? requestedPlace(search);
      const change = `Moved ${stepLabel(draft, step)}`;
      const index = indexOf(search, place);
      const from = draft.steps.indexOf(step);
      draft.remove(step);
      draft.steps.splice(index > from ? index - 1 : index, 0, step);
      draft.last = step;
      return [change];
    }
    case 'swap': {
      const [first, second] = command.steps.map((reference) => findStep(search, reference)) as [never, never];
      const [a, b] = [draft.steps.indexOf(first), draft.steps.indexOf(second)];
      [draft.steps[a], draft.steps[b]] = [second, first];
      return [`Swapped ${stepLabel(draft, first)} and ${stepLabel(draft, second)}`];
    }
    case 'replace step': {
      const step = findStep(search, command.step);
      const oldLabel = stepLabel(draft, step);
      const replacement = command.with;
      const newStep = replacement instanceof YAMLMap ? replacement : replacement && makeStep(search, replacement);
      if (newStep === undefined) return [];
      const scratch = newStep instanceof YAMLMap ? newStep : nodeOf(search, newStep);
      draft.replace(step, scratch);
      return [`Replaced ${oldLabel} with ${stepLabel(draft, step)}`];
    }
    case 'replace text':
      return replaceText(search, command);
    case 'set':
      return set(search, command);
    case 'unset': {
      const step = findStep(search, command.step);
      const path = keyOf(search, step, command.key);
      if (!draft.unset(step, path)) throw new RefusalError(`${stepLabel(draft, step)} has no ${command.key} to remove.`);
      return [`Removed ${command.key} from ${stepLabel(draft, step)}`];
    }
    case 'add option':
    case 'remove option':
      return changeOptions(search, command);
    case 'rename':
      return rename(search, command);
    case 'describe':
      draft.description = command.text ?? search.asker.text(search.statement, 'what is the new description?');
      return ['Changed the description'];
    case 'schedule':
      return [`Suggested a schedule: ${scheduleWords(command.schedule)}`];
  }
}

function add(search: Search, { steps, place }: Of<'add'>): string[] {
  const { draft } = search;
  // Every question is asked before anything changes.
  let index = indexOf(search, place);
  const newSteps = steps.map((step) => (step instanceof YAMLMap ? step : makeStep(search, step)));
  return newSteps.map((step) => {
    const addedStep = draft.insert(index, step);
    index += 1;
    return `Added ${stepLabel(draft, addedStep).replace(/^New step /, 'a step ')}`;
  });
}

/** The index at which a step is inserted. */
function indexOf(search: Search, place: Place): number {
  const { steps } = search.draft;
  if (place === 'start') return 0;
  if (place === 'end') return steps.length;
  const reference = 'before' in place ? place.before : place.after;
  const step = findStep(search, reference);
  return steps.indexOf(step) + ('before' in place ? 0 : 1);
}

function requestedPlace({ asker, statement, draft }: Search): Place {
  const places = ['At the start', 'At the end', ...draft.steps.map((step) => `After ${stepLabel(draft, step)}`)];
  const choice = asker.choose(
    statement,
    'where should it go?',
    places.map((label) => ({ label })),
  );
  if (choice < 2) return choice === 0 ? 'start' : 'end';
  const number = draft.steps[choice - 2]?.number;
  return number === undefined ? 'end' : { after: { by: 'number', number } };
}

function nodeOf({ draft }: Search, step: Record<string, unknown>): YAMLMap {
  const addedStep = draft.insert(draft.steps.length, step);
  draft.remove(addedStep);
  return addedStep.node;
}

function replaceText(search: Search, { from, to, in: references }: Of<'replace text'>): string[] {
  const { draft, asker, statement } = search;
  const steps = references === undefined ? draft.steps : findSteps(search, references);
  const places = references === undefined ? 'in the procedure' : 'there';
  const appears = (text: string): boolean =>
    text !== '' &&
    (steps.some((step) => draft.textsOf(step).some((value) => value.includes(text))) ||
      (references === undefined && (draft.description ?? '').includes(text)));
  const searchText = appears(from)
    ? from
    : asker.text(statement, `"${from}" does not appear ${places}. Which text should be replaced?`, false);
  if (!appears(searchText)) throw new RefusalError(`"${searchText}" does not appear ${places}.`);
  const next = to ?? asker.text(statement, `what should "${searchText}" be replaced with?`);
  const count = draft.rewrite((text) => text.replaceAll(searchText, () => next), steps, references === undefined);
  return [`Replaced "${searchText}" with "${next}" in ${count === 1 ? 'one text' : `${count} texts`}`];
}

function set(search: Search, { step: reference, key, value }: Of<'set'>): string[] {
  const { draft, asker, statement } = search;
  const step = findStep(search, reference);
  const path = keyOf(search, step, key);
  const name = String(path.at(-1));
  const text = value ?? asker.text(statement, `what should ${key} be?`);
  if (path.length === 1 && name === 'if') draft.setCondition(step, text);
  else if (name === 'id') return changeId(search, step, text);
  else draft.set(step, path, valueFor(path, text));
  return [`Set ${key} of ${stepLabel(draft, step)}`];
}

/** The path of a key in words. Asks for another key when such a step does not have it. */
function keyOf(search: Search, step: Parameters<typeof stepLabel>[1], key: string): Path {
  const { draft, asker, statement } = search;
  const kind = draft.kindOf(step);
  if (kind === undefined) throw new RefusalError(`${stepLabel(draft, step)} is of an unknown kind.`);
  const path = pathOf(kind, key);
  if (path !== undefined) return path;
  const keys = [...keysOf(kind), 'if'];
  const choice = asker.choose(
    statement,
    `${stepLabel(draft, step)} has no "${key}". Which key do you mean?`,
    keys.map((label) => ({ label })),
  );
  return pathOf(kind, keys[choice] as string) as Path;
}

function changeOptions(search: Search, { do: action, option, step: reference }: Of<'add option' | 'remove option'>): string[] {
  const { draft } = search;
  const step = findStep(search, reference);
  const options: unknown = step.node.getIn(['ask', 'questions', 0, 'options'], true);
  if (action === 'add option') {
    if (draft.kindOf(step) !== 'ask') throw new RefusalError(`${stepLabel(draft, step)} is not a question, so it has no options.`);
    if (isSeq(options)) {
      const before = options.items.at(-1);
      options.add(Object.assign(new YAMLMap(), { flow: isMap(before) ? before.flow === true : true }));
      draft.set(step, ['ask', 'questions', 0, 'options', options.items.length - 1, 'label'], option);
    } else draft.set(step, ['ask', 'questions', 0, 'options'], [{ label: option }]);
    return [`Added the option "${option}" to ${stepLabel(draft, step)}`];
  }
  const items = isSeq(options) ? options.items : [];
  const index = items.findIndex((item) => isMap(item) && item.get('label') === option);
  if (index < 0) throw new RefusalError(`${stepLabel(draft, step)} has no option "${option}".`);
  draft.unset(step, ['ask', 'questions', 0, 'options', index]);
  return [`Removed the option "${option}" from ${stepLabel(draft, step)}`];
}

function rename(search: Search, { step: reference, id }: Of<'rename'>): string[] {
  const { draft, asker, statement } = search;
  const step = findStep(search, reference);
  return changeId(search, step, id ?? asker.text(statement, `what is the new ID of ${stepLabel(draft, step)}?`));
}

/** Changes the ID of a step, and every template and condition that refers to it. */
function changeId({ draft }: Search, step: Parameters<typeof stepLabel>[1], id: string): string[] {
  if (!new RegExp(idPattern).test(id))
    throw new RefusalError(`"${id}" is not a valid ID: an ID starts with a letter, followed by letters, digits, and underscores.`);
  const kind = stepKinds.find((word) => step.node.has(word));
  const before = draft.idOf(step);
  const payload: unknown = kind === undefined ? undefined : step.node.get(kind, true);
  if (kind === undefined || !isMap(payload)) throw new RefusalError(`${stepLabel(draft, step)} cannot have an ID.`);
  if (before === undefined) payload.items.unshift(...idPair(id));
  else {
    draft.set(step, [kind, 'id'], id);
    draft.rewrite((text) => text.replaceAll(new RegExp(`\\b(answers|steps)\\.${before}\\b`, 'g'), `$1.${id}`));
  }
  draft.touch(step);
  return [`Named ${stepLabel(draft, step)} ${id}${before === undefined ? '' : ` (previously ${before})`}`];
}

function idPair(id: string) {
  const map = new YAMLMap();
  map.set('id', id);
  return map.items.filter(({ key }) => !isScalar(key) || key.value === 'id');
}
