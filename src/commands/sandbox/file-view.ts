/** The view of the team page that shows a file or a folder of a run. Pure. */
import path from 'node:path';
import { workspace } from '../../client/transfers/run-files.ts';

/** @param name a path in the workspace, or an absolute one */
export const fileView = (runId: string, kind: 'file' | 'files', name: string): string =>
  `/runs/${runId}/${kind}/${path.posix.resolve(workspace, name).split('/').filter(Boolean).map(encodeURIComponent).join('/')}`;
