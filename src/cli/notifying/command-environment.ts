/** The environment of the command of --exec. */
import { omitUndefined } from '../../base/omit-undefined.ts';
import type { Environment } from '../../config/paths.ts';
import { overridingVariables } from '../connect/profile-context.ts';
import { factsOf, type StreamedEvent } from './notable-event.ts';

/** Variables with secrets of aops, which the command must not get. */
const secretVariables: ReadonlySet<string> = new Set(['AOPS_API_KEY', 'AOPS_CLIENT_SECRET', 'AOPS_WEBHOOK_SECRET']);

/** Longest value in characters, far below what systems accept. */
const maxLength = 2_000;

/** Variables that would connect a command for an event of one of several profiles with another service or team. */
const connecting: ReadonlySet<string> = new Set(overridingVariables);

/**
 * The environment of aops without its secrets, and variables that describe the event. For an event of one of several profiles,
 * AOPS_PROFILE is that profile, so that the command calls aops with it.
 * @param selection variables with which aops uses the same service and team as the command that watches
 */
export function commandEnvironment(env: Environment, selection: Environment, event: StreamedEvent): Record<string, string> {
  const { requestId, requestTitle, agentName, runNumber, run, profile } = factsOf(event);
  const isRemoved = (name: string) => secretVariables.has(name) || (profile !== undefined && connecting.has(name));
  const inherited = Object.entries(profile === undefined ? { ...env, ...selection } : env).filter(([name]) => !isRemoved(name));
  const described = {
    AOPS_EVENT: event.type,
    AOPS_RUN_ID: event.run_id,
    AOPS_RUN_NUMBER: runNumber?.toString(),
    AOPS_RUN_STATUS: run?.status,
    AOPS_AGENT_NAME: agentName,
    AOPS_REQUEST_ID: requestId,
    AOPS_REQUEST_TITLE: requestTitle,
    AOPS_PROFILE: profile,
  };
  const values = Object.entries(omitUndefined(described)).map(([name, value]) => [name, variableValue(value as string)]);
  return { ...(Object.fromEntries(inherited) as Record<string, string>), ...Object.fromEntries(values) };
}

/** No variable can contain a zero character. */
const variableValue = (text: string): string => [...text.replaceAll('\0', '')].slice(0, maxLength).join('');
