/** How artifacts are displayed, and how an argument identifies one. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { isUuid } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { argument } from '../../cli/kit/flags.ts';
import { status, time } from '../../cli/kit/output.ts';
import { findByName } from '../../cli/names/resolve.ts';
import type { FetchPage } from '../../client/paging.ts';
import type { Artifact, ArtifactRevision } from '../../interface/types.ts';

export const artifactArgument = argument('The artifact: its ID, its title, or @latest for the newest', { complete: 'artifacts' });

const visibilityOf = ({ visibility, publish_permission: permission }: Artifact): string =>
  visibility === 'private' ? visibility : `${visibility}, to ${permission}`;

/** @param artifact contains only the ID if it could not be read */
export const artifactRecord = (artifact: Artifact) => (artifact.status === undefined ? { ID: artifact.id } : wholeRecord(artifact));

const wholeRecord = (artifact: Artifact) => ({
  ID: artifact.id,
  Title: artifact.title ?? undefined,
  Status: status(artifact.status),
  Page: artifact.html_code_present ? 'yes' : 'not yet',
  Visible: visibilityOf(artifact),
  Refresh: artifact.refresh_frequency?.replaceAll('_', ' '),
  'Last refresh': artifact.last_refresh_at ? time(artifact.last_refresh_at) : undefined,
  'Next refresh': artifact.next_refresh_at ? time(artifact.next_refresh_at) : undefined,
  Created: time(artifact.created_at),
  Updated: time(artifact.updated_at),
});

/**
 * The ID of the artifact with this ID or title, or of the newest one for `@latest`.
 * @throws AopsError `artifact_not_found` (exit 3), UsageError when several have this title
 */
export async function artifactId(context: Context, name: string): Promise<string> {
  if (isUuid(name)) return name.toLowerCase();
  const client = await context.client();
  const fetchPage: FetchPage<Artifact> = async (limit, offset) => {
    const page = await client.call('listArtifacts', { query: { limit, offset } });
    return { items: page.artifacts, total: page.total };
  };
  if (name !== '@latest')
    return (
      await findByName(
        name,
        async () => ({ word: 'artifact', pageSize: 100, fetchPage }),
        ({ title }) => title,
      )
    ).id;
  const { items: artifacts } = await fetchPage(1, 0);
  if (artifacts[0]) return artifacts[0].id;
  throw new AopsError('There are no artifacts yet.', {
    code: 'artifact_not_found',
    exit: exitCodes.notFound,
    hint: "Create one with `aops artifacts create 'runs of the last 7 days by status'`.",
  });
}

/** The revision with this version or ID. @throws AopsError `revision_not_found` (exit 3) */
export async function artifactRevision(context: Context, id: string, versionOrId: string): Promise<ArtifactRevision> {
  const client = await context.client();
  const { revisions } = await client.call('listArtifactRevisions', { params: { artifactId: id } });
  const reference = isUuid(versionOrId) ? versionOrId.toLowerCase() : Number(versionOrId.replace(/^v/, ''));
  const match = revisions.find((revision) => revision.id === reference || revision.version === reference);
  if (match) return match;
  throw new AopsError(`The artifact has no revision ${versionOrId}.`, {
    code: 'revision_not_found',
    exit: exitCodes.notFound,
    hint: `List its revisions with \`aops artifacts revisions ${id}\`.`,
  });
}
