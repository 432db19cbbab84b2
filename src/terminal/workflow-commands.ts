/**
 * GitHub Actions reads commands from the log of a step: lines that begin with `::`, and `##[...]` anywhere. Text from agents must not be one
 * (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
 */

/** Environment variables as passed by the launcher. */
type Environment = Readonly<Record<string, string | undefined>>;

export const isGitHubActions = (env: Environment): boolean => env.GITHUB_ACTIONS === 'true';

/** The same text for people, without anything that the runner would take for a command. */
export const withoutCommands = (text: string): string => text.replace(/^(\s*):(?=:)/gm, '$1: ').replaceAll('##[', '## [');

/** The same JSON value, without anything that the runner would take for a command. */
export const withoutCommandsInJson = (json: string): string => json.replaceAll('##[', '##\\u005b');

/** A line that adds an annotation to the job, with everything in it escaped. */
export function annotation(level: 'error' | 'warning', title: string, message: string): string {
  return `::${level} title=${escapeProperty(title)}::${escapeData(message)}`;
}

const escapeData = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const escapeProperty = (text: string): string => escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
