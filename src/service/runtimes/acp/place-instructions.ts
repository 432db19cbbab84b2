/**
 * Gives an agent its instructions and skills. They are written to its HOME, where most agents look for those that apply to all
 * projects: so they neither touch the files of a repository nor appear among its changes. An agent that is not known to read them
 * there gets them in its first prompt.
 */
import path from 'node:path';
import { ServiceError } from '../../errors.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { AgentDefinition } from './definition.ts';
import { AgentProblem } from './problems.ts';
import { type AcpAgent, acpAgent } from './registry.ts';
import { skillSummaries } from './skills.ts';

type Places = NonNullable<AcpAgent['instructions']>;

/** The private folder of a run that is the HOME of its agent. */
export const homeFolder = 'home';
const agentsFile = 'AGENTS.md';
/** How much of a project's AGENTS.md is copied, in bytes. */
const maxProjectText = 256 * 1024;
/** Where the skills of other agents are. */
const usualSkillsFolder = '.agents/skills';

/**
 * Writes the files. @returns what the first prompt has to begin with, if anything
 * @throws AgentProblem if the agent has replaced one of the folders
 */
export async function placeInstructions(sandbox: Sandbox, definition: AgentDefinition): Promise<string | undefined> {
  const { instructions, skills } = definition;
  const places = placesOf(definition);
  const skillsFolder = places?.skills ?? usualSkillsFolder;
  const text = places === undefined ? undefined : await fileText(sandbox, places, instructions);
  if (places !== undefined && text !== undefined) await write(sandbox, places.file, text);
  for (const [name, files] of Object.entries(skills))
    for (const [file, text] of Object.entries(files)) await write(sandbox, path.posix.join(skillsFolder, name, file), text);
  if (places !== undefined) return undefined;
  const home = await sandbox.privateFolder(homeFolder);
  const parts = [
    ...(instructions === undefined ? [] : [`<instructions>\n${instructions.trim()}\n</instructions>`]),
    ...(Object.keys(skills).length === 0 ? [] : [skillsText(definition, path.join(home, skillsFolder))]),
  ];
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

/** Where the agent looks; undefined if that is unknown, or if its variables change it. */
function placesOf({ acp, environment, secrets }: AgentDefinition): Places | undefined {
  const places = acp === undefined ? null : acpAgent(acp).instructions;
  const isSet = (name: string): boolean => Object.hasOwn(environment, name) || secrets.includes(name);
  return places === null || ['HOME', ...places.movedBy].some(isSet) ? undefined : places;
}

/**
 * The text of the file in HOME. An agent that reads another file of a project, such as CLAUDE.md, would overlook an AGENTS.md, so it
 * gets a copy, unless the project has that file as well.
 */
async function fileText(sandbox: Sandbox, { projectFile }: Places, instructions: string | undefined): Promise<string | undefined> {
  const isOverlooked = projectFile !== agentsFile && !(await exists(sandbox, projectFile)) && (await exists(sandbox, agentsFile));
  const projectText = isOverlooked ? (await sandbox.read(agentsFile, maxProjectText)).bytes.toString('utf8') : undefined;
  const parts = [
    ...(instructions === undefined ? [] : [instructions.trimEnd()]),
    ...(projectText === undefined ? [] : [`This is the file ${agentsFile} of the project:\n\n${projectText.trimEnd()}`]),
  ];
  return parts.length === 0 ? undefined : `${parts.join('\n\n')}\n`;
}

const exists = (sandbox: Sandbox, file: string): Promise<boolean> =>
  sandbox.stat(file).then(
    ({ type }) => type === 'file',
    () => false,
  );

function skillsText({ skills }: AgentDefinition, folder: string): string {
  const lines = skillSummaries(skills).map(({ name, description }) => `- ${name}: ${description} (${path.join(folder, name, 'SKILL.md')})`);
  const about = 'Skills explain how to do something. When the description of one fits your task, read its file before you begin:';
  return `<skills>\n${about}\n${lines.join('\n')}\n</skills>`;
}

async function write(sandbox: Sandbox, file: string, text: string): Promise<void> {
  // The execute permission of scripts is not part of the definition.
  const mode = text.startsWith('#!') ? 0o700 : 0o600;
  try {
    await sandbox.writePrivate(homeFolder, file, Buffer.from(text), mode);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new AgentProblem(
      `The agent has replaced ~/${file} in its home folder, so its instructions cannot be written there. Start a new run.`,
    );
  }
}
