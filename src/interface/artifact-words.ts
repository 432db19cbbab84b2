/** The words of artifacts. Separate from the schemas, so that commands can use them. */

export const artifactStatuses = ['not_started', 'pending', 'running', 'completed', 'failed', 'interrupted'] as const;
export type ArtifactStatus = (typeof artifactStatuses)[number];

export const artifactVisibilities = ['private', 'team', 'organization', 'teams'] as const;
export type ArtifactVisibility = (typeof artifactVisibilities)[number];
/** Those that can be requested. */
export const publishVisibilities = ['private', 'team', 'organization'] as const;

export const publishPermissions = ['view', 'edit'] as const;
export type PublishPermission = (typeof publishPermissions)[number];

export const refreshFrequencies = ['every_15_minutes', 'every_30_minutes', 'hourly', 'every_6_hours', 'daily', 'weekly'] as const;
export type RefreshFrequency = (typeof refreshFrequencies)[number];

export const artifactScopes = ['created', 'shared', 'team'] as const;
export const artifactThemes = ['light', 'dark'] as const;
export type ArtifactTheme = (typeof artifactThemes)[number];
