/** The environment of the command of --exec. */
import { omitUndefined } from '../../base/omit-undefined.ts';
import type { Environment } from '../../config/paths.ts';
import { factsOf, type StreamedEvent } from './notable-event.ts';

/** Variables with secrets of aops, which the command must not get. */
const secretVariables: ReadonlySet<string> = new Set(['AOPS_API_KEY', 'AOPS_CLIENT_SECRET', 'AOPS_WEBHOOK_SECRET']);

/** Longest value in characters, far below what systems accept. */
const maxLength = 2_000;

/** The environment of aops without its secrets, and variables that describe the event. */
export function commandEnvironment(env: Environment, event: StreamedEvent): Record<string, string> {
  const inherited = Object.entries(env).filter(([name]) => !secretVariables.has(name));
  const { requestId, requestTitle, agentName, runNumber, run } = factsOf(event);
  const described = {
    AOPS_EVENT: event.type,
    AOPS_RUN_ID: event.run_id,
    AOPS_RUN_NUMBER: runNumber?.toString(),
    AOPS_RUN_STATUS: run?.status,
    AOPS_AGENT_NAME: agentName,
    AOPS_REQUEST_ID: requestId,
    AOPS_REQUEST_TITLE: requestTitle,
  };
  const values = Object.entries(omitUndefined(described)).map(([name, value]) => [name, variableValue(value as string)]);
  return { ...(Object.fromEntries(inherited) as Record<string, string>), ...Object.fromEntries(values) };
}

/** No variable can contain a zero character. */
const variableValue = (text: string): string => [...text.replaceAll('\0', '')].slice(0, maxLength).join('');
