/** Skills: folders with a file SKILL.md, which tells an agent how to do something (Agent Skills, https://agentskills.io/specification). */
import { parse } from 'yaml';
import { isObject } from '../../../base/values.ts';
import type { Finding } from '../document/findings.ts';

/** The texts of the files of each skill, by the name of the skill and the path in its folder. */
export type Skills = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The file that describes a skill. */
const skillFile = 'SKILL.md';
const maxSkills = 100;
const maxFiles = 200;
const maxNameLength = 64;
const maxDescriptionLength = 1_024;
const maxPathLength = 255;

/** What is wrong with skills. Agents ignore invalid ones silently, so they are refused. */
export function skillFindings(skills: Skills): Finding[] {
  const entries = Object.entries(skills);
  const fileCount = entries.reduce((sum, [, files]) => sum + Object.keys(files).length, 0);
  if (entries.length > maxSkills) return [{ message: `there are more than ${maxSkills} skills`, path: ['skills'], onKey: true }];
  if (fileCount > maxFiles) return [{ message: `the skills have more than ${maxFiles} files`, path: ['skills'], onKey: true }];
  return entries.flatMap(([name, files]) => [
    ...nameFindings(name),
    ...Object.keys(files).flatMap((file) => pathFindings(name, file)),
    ...descriptionFindings(name, files),
  ]);
}

function nameFindings(name: string): Finding[] {
  if (/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && name.length <= maxNameLength) return [];
  const rule = `use at most ${maxNameLength} lower-case letters, digits, and single hyphens between them`;
  return [{ message: `\`${name}\` is not the name of a skill: ${rule}`, path: ['skills', name], onKey: true }];
}

function pathFindings(skill: string, file: string): Finding[] {
  const parts = file.split('/');
  const isRelative = parts.every((part) => part !== '' && part !== '.' && part !== '..') && !/[\\\0]/.test(file);
  if (isRelative && file.length <= maxPathLength) return [];
  const rule = `use a relative path of at most ${maxPathLength} characters with / between names, without .. and backslashes`;
  return [
    { message: `\`${file}\` is not the path of a file in the skill \`${skill}\`: ${rule}`, path: ['skills', skill, file], onKey: true },
  ];
}

function descriptionFindings(name: string, files: Readonly<Record<string, string>>): Finding[] {
  const text = files[skillFile];
  if (text === undefined) return [{ message: `the skill \`${name}\` needs a file \`${skillFile}\``, path: ['skills', name], onKey: true }];
  const finding = (message: string): Finding[] => [
    { message: `${skillFile} of the skill \`${name}\` ${message}`, path: ['skills', name, skillFile], onKey: true },
  ];
  const header = headerOf(text);
  if (header === undefined) return finding('must begin with a YAML header between two lines `---` that contains `name` and `description`');
  if (header.name !== name) return finding(`must have the header \`name: ${name}\`, like its folder`);
  const { description } = header;
  if (typeof description !== 'string' || description.trim() === '')
    return finding('needs a `description` in its header, from which the agent learns when to use it');
  if (description.length > maxDescriptionLength) return finding(`has a description of more than ${maxDescriptionLength} characters`);
  return [];
}

/** The fields at the beginning of a SKILL.md. */
function headerOf(text: string): Record<string, unknown> | undefined {
  const [, source] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? [];
  if (source === undefined) return undefined;
  try {
    const fields: unknown = parse(source, { logLevel: 'error' });
    return isObject(fields) ? fields : undefined;
  } catch {
    return undefined;
  }
}

/** A skill in a few words, for an agent that does not look for skills itself. */
export function skillSummaries(skills: Skills): { name: string; description: string }[] {
  return Object.entries(skills).map(([name, files]) => {
    const description = headerOf(files[skillFile] ?? '')?.description;
    return { name, description: String(description).replaceAll(/\s+/g, ' ').trim() };
  });
}
