/** Every operation is in a recording, so that a new one is added to one, too. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { operationIds } from '../../../src/interface/operations.ts';

/** Operations that other tests are about, by what keeps them from being recorded. */
const unrecorded = {
  'events have no end': ['getMcp', 'streamRunEvents', 'streamRunsEvents', 'streamTeamEvents'],
  'bytes are no text': ['downloadRunFile', 'exportArtifactPdf', 'getAgentRunSandboxArchive', 'getRunSandboxArchive'],
  'a person continues in a browser': ['authorizeMcpOAuth', 'checkMcpOAuth', 'createPageCode'],
  'Postgres has backups of its own': ['createBackupHold', 'deleteBackupHold', 'updateBackupHold'],
};

it('every operation is recorded', async () => {
  const folder = path.join(import.meta.dirname, 'recordings');
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(path.join(folder, name), 'utf8')));
  const recorded = new Set(texts.join('\n').split('\n'));
  expect(operationIds.filter((id) => !recorded.has(id)).sort()).toEqual(Object.values(unrecorded).flat().sort());
});
