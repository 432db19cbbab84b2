/** How an agent of the registry is displayed. */
import type { RegisteredAgent } from '../../../interface/types.ts';

/** The name to pass to --acp. */
export const wordFor = ({ id, alias }: RegisteredAgent): string => alias ?? id;

/** Its version, if it is installed; otherwise why it is not. */
export function installedInWords({ status, installed_version }: RegisteredAgent): string {
  if (status === 'unsupported_platform') return 'unavailable';
  return status === 'installed' ? (installed_version ?? 'yes') : 'no';
}

/** What to do to install it. */
export function installationInWords({ install_command, website, name, platforms, status }: RegisteredAgent): string | undefined {
  if (status === 'installed') return undefined;
  if (status === 'unsupported_platform') return `${name} exists only for ${platforms.join(', ')}.`;
  return install_command ?? `See ${website}`;
}
