/** Changes parts of the definition of an agent of the Agent Client Protocol, and leaves the rest of its text unchanged. */
import { Document, isMap, isScalar, parseDocument } from 'yaml';
import { UsageError } from '../../base/errors.ts';
import type { Instructions } from './instructions.ts';

/** What the options set in a definition; undefined or empty for what stays unchanged. */
export interface DefinitionChange {
  program: { acp: string } | { command: string[] } | undefined;
  instructions: string | undefined;
  /** All skills, with the texts of their files by path. */
  skills: Instructions['skills'];
  mode: string | undefined;
  environment: Readonly<Record<string, string>>;
  /** Names of secrets. */
  secrets: readonly string[];
  network: readonly string[];
  files: readonly string[];
}

/** A change of nothing. */
export const unchanged: DefinitionChange = {
  ...{ program: undefined, instructions: undefined, skills: undefined, mode: undefined },
  ...{ environment: {}, secrets: [], network: [], files: [] },
};

export interface ChangedDefinition {
  /** YAML; the same text if nothing changes. */
  text: string;
  /** The mode that was removed with the program that it belongs to. */
  removedMode: string | undefined;
}

/**
 * Changes a definition. Variables, secrets, hosts, and paths are added to those that it has. A variable and a secret of the same name
 * replace each other, and a mode does not outlive the program that it belongs to.
 * @param text the definition; undefined for a new one
 * @throws UsageError if a part cannot be changed without changing others
 */
export function changedDefinition(text: string | undefined, change: DefinitionChange): ChangedDefinition {
  const document: Document = text === undefined ? new Document({ version: 1 }) : parseDocument(text, { logLevel: 'silent' });
  if (document.errors.length > 0 || !isMap(document.contents)) throw unchangeable();
  const before = text ?? '';
  let removedMode: string | undefined;
  try {
    removedMode = setProgram(document, change);
    if (change.instructions !== undefined) document.set('instructions', change.instructions);
    if (change.skills !== undefined) document.set('skills', document.createNode(change.skills));
    if (change.mode !== undefined) document.set('mode', change.mode);
    for (const [name, value] of Object.entries(change.environment)) {
      document.setIn(['environment', name], value);
      removeFromList(document, 'secrets', name);
    }
    for (const name of change.secrets) {
      addToList(document, 'secrets', name);
      if (document.hasIn(['environment', name])) document.deleteIn(['environment', name]);
    }
    for (const host of change.network) addToList(document, 'network', host);
    for (const file of change.files) addToList(document, 'files', file);
    removeIfEmpty(document, 'environment');
    removeIfEmpty(document, 'secrets');
  } catch {
    // Such as a list that is an alias of another part.
    throw unchangeable();
  }
  const isChanged = JSON.stringify(document.toJS()) !== JSON.stringify(parseDocument(before, { logLevel: 'silent' }).toJS());
  // Lines are not wrapped, so that a comparison of revisions shows only what was changed.
  return { text: isChanged ? document.toString({ lineWidth: 0 }) : before, removedMode };
}

/** Puts the new program in the place of the previous one. Returns the mode that is removed with it, if any. */
function setProgram(document: Document, { program, mode }: DefinitionChange): string | undefined {
  if (program === undefined || !isMap(document.contents)) return undefined;
  const [[key, value]] = Object.entries(program) as [[string, string | string[]]];
  const [previous] = document.contents.items.filter((pair) => isScalar(pair.key) && ['acp', 'command'].includes(String(pair.key.value)));
  if (previous === undefined) {
    document.set(key, document.createNode(value));
    return undefined;
  }
  const isSame =
    String((previous.key as { value: unknown }).value) === key && JSON.stringify(document.toJS()[key]) === JSON.stringify(value);
  if (isSame) return undefined;
  previous.key = document.createNode(key);
  // A comment next to the name of an agent belongs to the line.
  if (isScalar(previous.value) && typeof value === 'string') previous.value.value = value;
  else previous.value = document.createNode(value);
  const previousMode = document.get('mode') as string | undefined;
  if (mode !== undefined || previousMode === undefined) return undefined;
  document.delete('mode');
  return previousMode;
}

function addToList(document: Document, key: string, word: string): void {
  const words = document.toJS()[key] as unknown;
  if (words === undefined || words === null) document.set(key, document.createNode([word]));
  else if (!(words as unknown[]).includes(word)) document.addIn([key], word);
}

function removeFromList(document: Document, key: string, word: string): void {
  const words = (document.toJS()[key] ?? []) as unknown[];
  const index = words.indexOf(word);
  if (index >= 0) document.deleteIn([key, index]);
}

function removeIfEmpty(document: Document, key: string): void {
  const value = document.toJS()[key] as unknown;
  if (value !== undefined && value !== null && Object.keys(value).length === 0) document.delete(key);
}

const unchangeable = (): UsageError =>
  new UsageError(
    'The definition of this agent is written in a way that these options cannot change.',
    'Print it with `aops revisions get AGENT@live --jq .config.data.input`, edit it, and pass it to `aops agents update AGENT --procedure FILE`.',
  );
