/** Shows revisions. */
import type { Build } from '../../interface/types.ts';
import { status, time } from '../kit/output.ts';

interface ConfigData {
  model?: string;
  models?: { agent?: { model?: string } };
  input?: string | { content: string | { type: string; text?: string }[] }[];
}

const dataOf = (config: Build['config'] | undefined): ConfigData => (config?.data ?? {}) as ConfigData;

/** The model or runtime that a configuration of any version names. */
export const runtimeOf = (config: Build['config'] | undefined): string | undefined =>
  dataOf(config).models?.agent?.model ?? dataOf(config).model;

/** The procedure as text: the texts of its messages on consecutive lines, as they are executed. */
export function procedureOf(config: Build['config']): string {
  const { input = '' } = dataOf(config);
  if (typeof input === 'string') return input;
  return input
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : content.flatMap(({ text }) => (text === undefined ? [] : [text]))))
    .join('\n');
}

export const revisionRecord = (build: Build) => ({
  ID: build.id,
  Revision: build.revision_number,
  Status: status(build.status ?? 'unknown'),
  Name: build.revision_name ?? build.name,
  Description: build.revision_description ?? undefined,
  Agent: build.agent_id,
  Runtime: runtimeOf(build.config),
  Parent: build.parent_build_id ?? undefined,
  Created: time(build.created_at),
  Updated: time(build.updated_at),
});

/** `revision 3 (draft)` */
export const revisionTitle = (build: Build): string => `revision ${build.revision_number ?? build.id} (${build.status ?? 'unknown'})`;
