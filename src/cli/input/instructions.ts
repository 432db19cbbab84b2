/** The instructions of an agent: a text, or a folder with AGENTS.md and skills, as they are part of a repository or a home folder. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import type { Context } from '../kit/context.ts';
import { fileProblem, readText } from './body.ts';

/** The part of an agent's definition that contains them. */
export interface Instructions {
  instructions?: string;
  /** The texts of the files of each skill, by its name and their path. */
  skills?: Record<string, Record<string, string>>;
}

const agentsFile = 'AGENTS.md';
const skillsFolder = 'skills';
const skillFile = 'SKILL.md';
/** A definition with everything can have 1 MiB. */
const maxBytes = 1024 * 1024;

/** @param source a file or folder, or `-` for standard input @throws UsageError if something cannot be used, or there are no instructions */
export async function readInstructions(context: Context, source: string): Promise<Instructions> {
  if (source === '-') return { instructions: await readText(context, '-') };
  const place = path.resolve(context.cwd, source);
  const stats = await stat(place).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(fileProblem(source, error));
  });
  if (!stats.isDirectory()) return { instructions: await readText(context, source) };
  const folder = new InstructionFolder(source, await realpath(place));
  const text = await folder.agentsText();
  const skills = await folder.skills();
  for (const name of folder.ignored) context.terminal.warn(`${name} is not the folder of a skill, so it is ignored.`);
  if (text === undefined && Object.keys(skills).length === 0)
    throw new UsageError(
      `${source} contains neither ${agentsFile} nor a folder ${skillsFolder} with skills.`,
      `Pass the file with the instructions, or the folder that contains ${agentsFile} or ${skillsFolder}/NAME/${skillFile}, such as .claude or .agents.`,
    );
  return { ...(text === undefined ? {} : { instructions: text }), ...(Object.keys(skills).length === 0 ? {} : { skills }) };
}

class InstructionFolder {
  /** Names in the folder of skills that are not folders. */
  readonly ignored: string[] = [];
  readonly #name: string;
  readonly #root: string;
  #size = 0;

  /** @param name for messages @param root its real path */
  constructor(name: string, root: string) {
    this.#name = name;
    this.#root = root;
  }

  async agentsText(): Promise<string | undefined> {
    return (await this.#kindOf(agentsFile)) === undefined ? undefined : await this.#text(agentsFile);
  }

  async skills(): Promise<Record<string, Record<string, string>>> {
    const skills: Record<string, Record<string, string>> = {};
    if ((await this.#kindOf(skillsFolder)) !== 'folder') return skills;
    for (const name of await this.#names(skillsFolder)) {
      const folder = path.join(skillsFolder, name);
      if ((await this.#kindOf(folder)) !== 'folder') {
        this.ignored.push(this.#displayPath(folder));
        continue;
      }
      const files: Record<string, string> = {};
      await this.#collect(folder, '', [], files);
      if (files[skillFile] === undefined)
        throw new UsageError(
          `${this.#displayPath(folder)} contains no ${skillFile}.`,
          `A skill is a folder with a file ${skillFile}, which begins with its name and description.`,
        );
      skills[name] = files;
    }
    return skills;
  }

  /** Reads all files below a folder. @param parents the real paths of the folders that it is in */
  async #collect(skill: string, folder: string, parents: readonly string[], files: Record<string, string>): Promise<void> {
    const place = path.join(skill, folder);
    const real = await this.#realPath(place);
    if (parents.includes(real)) throw new UsageError(`${this.#displayPath(place)} is a link to a folder that contains it.`);
    for (const name of await this.#names(place)) {
      const file = path.join(folder, name);
      if ((await this.#kindOf(path.join(skill, file))) === 'folder') await this.#collect(skill, file, [...parents, real], files);
      else files[file.split(path.sep).join('/')] = await this.#text(path.join(skill, file));
    }
  }

  /** The names in a folder, without hidden ones, which belong to tools. */
  async #names(folder: string): Promise<string[]> {
    const names = await readdir(await this.#realPath(folder)).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(fileProblem(this.#displayPath(folder), error));
    });
    return names.filter((name) => !name.startsWith('.')).sort();
  }

  async #text(file: string): Promise<string> {
    const place = await this.#realPath(file);
    const { size } = await stat(place);
    this.#size += size;
    if (this.#size > maxBytes)
      throw new UsageError(
        `${this.#name} is too large: instructions and skills can have at most 1 MiB together.`,
        `It was exceeded at ${this.#displayPath(file)} (${size} bytes). Let a skill refer to large files instead of containing them.`,
      );
    const bytes = await readFile(place).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(fileProblem(this.#displayPath(file), error));
    });
    const text = decodedText(bytes);
    if (text === undefined)
      throw new UsageError(
        `${this.#displayPath(file)} is not a text in UTF-8.`,
        'Instructions and skills can only contain texts. Remove the file.',
      );
    return text;
  }

  /** Undefined if it does not exist. @throws UsageError for anything but files and folders */
  async #kindOf(name: string): Promise<'file' | 'folder' | undefined> {
    const place = await this.#realPath(name, true);
    const stats = place === undefined ? undefined : await stat(place);
    if (stats === undefined || stats.isFile()) return stats && 'file';
    if (stats.isDirectory()) return 'folder';
    throw new UsageError(`${this.#displayPath(name)} is neither a file nor a folder.`);
  }

  async #realPath(name: string): Promise<string>;
  async #realPath(name: string, isOptional: true): Promise<string | undefined>;
  async #realPath(name: string, isOptional = false): Promise<string | undefined> {
    const place = path.join(this.#root, name);
    const real = await realpath(place).catch((error: NodeJS.ErrnoException) => {
      if (isOptional && error.code === 'ENOENT') return undefined;
      throw new UsageError(fileProblem(this.#displayPath(name), error));
    });
    if (real !== undefined && real !== this.#root && !real.startsWith(this.#root + path.sep))
      throw new UsageError(
        `${this.#displayPath(name)} is a link that leads out of ${this.#name}.`,
        'Replace the link with a copy of the file, so that the revision contains what you see there.',
      );
    return real;
  }

  #displayPath(name: string): string {
    return path.join(this.#name, name);
  }
}

/** Undefined for bytes that are not UTF-8 or contain a NUL character, as images do. */
function decodedText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
