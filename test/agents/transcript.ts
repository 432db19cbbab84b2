/**
 * Transcripts: the lines that each agent sent in a session, without what differs from one run to the next. Tests of the mapping
 * from the protocol to messages read them, so that they need no agent. `RECORD_TRANSCRIPTS=1 npx vitest run test/agents` writes them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const fileOf = (name: string): string => path.join(import.meta.dirname, 'transcripts', `${name}.ndjson`);

/** Whether the transcripts are to be written. */
export const recording = process.env.RECORD_TRANSCRIPTS === '1';

/** The messages of an agent in the order in which it sent them. */
export const transcriptOf = (name: string): Record<string, unknown>[] =>
  readFileSync(fileOf(name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** @param places what to replace, such as folders */
export function writeTranscript(name: string, lines: readonly string[], places: Record<string, string>): void {
  writeFileSync(fileOf(name), `${normalise(lines.join('\n'), places)}\n`);
}

/** Replaces the places, and identifiers by numbers in the order of their first occurrence. */
export function normalise(text: string, places: Record<string, string>): string {
  const ids = new Map<string, string>();
  const number = (kind: string, id: string): string => {
    if (!ids.has(id)) ids.set(id, `${kind}-${[...ids.values()].filter((each) => each.startsWith(`${kind}-`)).length + 1}`);
    return ids.get(id) as string;
  };
  return Object.entries(places)
    .reduce((result, [place, name]) => result.replaceAll(place, name).replaceAll(place.slice(1), name.slice(1)), text)
    .replaceAll(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g, (id) => number('id', id))
    .replaceAll(/\b(ses|msg|prt)_[0-9a-zA-Z]{20,}\b/g, (id, kind: string) => number(kind, id))
    .replaceAll(/\b[0-9a-f]{32}\b/g, (id) => number('id', id))
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"2026-01-01T00:00:00.000Z"');
}
