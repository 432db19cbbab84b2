/** Chooses the mode in which an agent works: the strictest one that it offers, so that it asks a person before it acts. */
import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk';
import { AgentProblem } from './problems.ts';

/** The modes that a session offers. Older agents list modes; newer ones have a configuration option of the category `mode`. */
export interface OfferedModes {
  modes?: SessionModeState | null | undefined;
  configOptions?: readonly SessionConfigOption[] | null | undefined;
}

export interface ModeChoice {
  /** The mode in force after the change. */
  mode: string;
  /** How to change to it; undefined if it is already in force. */
  change?: { by: 'mode' } | { by: 'option'; optionId: string };
  /** Whether the agent asks before it acts in this mode, judging by the mode's name. */
  asks: boolean;
}

/**
 * Modes in which agents ask before each change, strictest first. Planning and read-only modes come last: in some agents they ask
 * (Codex), in others they exclude the work itself.
 */
const askingModes = ['default', 'ask', 'manual', 'untrusted', 'normal', 'build', 'read-only', 'readonly'];

interface Offer {
  current: string;
  modes: OfferedMode[];
  optionId?: string;
}

export interface OfferedMode {
  id: string;
  name: string;
}

function offerOf({ modes, configOptions }: OfferedModes): Offer | undefined {
  const option = configOptions?.find(({ type, category }) => type === 'select' && category === 'mode');
  if (option?.type === 'select') {
    const entries = option.options.flatMap((entry) => ('options' in entry ? entry.options : [entry]));
    return { current: option.currentValue, modes: entries.map(({ value: id, name }) => ({ id, name })), optionId: option.id };
  }
  return modes == null ? undefined : { current: modes.currentModeId, modes: modes.availableModes.map(({ id, name }) => ({ id, name })) };
}

/** The modes that a session offers, as a list. */
export const modesIn = (offeredModes: OfferedModes): OfferedMode[] => offerOf(offeredModes)?.modes ?? [];

/**
 * The mode for a session, or undefined if the agent has no modes.
 * @param requestedMode the mode in the definition of the agent; it is used even if the agent does not ask in it
 * @param preferredMode the mode to use otherwise, if the agent offers it: other versions of an agent can have other modes
 * @throws AgentProblem if the agent does not offer the requested mode; the message lists the modes that it offers
 */
export function chooseMode(offeredModes: OfferedModes, requestedMode: string | undefined, preferredMode?: string): ModeChoice | undefined {
  const offer = offerOf(offeredModes);
  if (offer === undefined) {
    if (requestedMode !== undefined)
      throw new AgentProblem(`The agent has no modes, so it cannot be switched to "${requestedMode}".`, 'unknown_mode');
    return undefined;
  }
  const { current, optionId } = offer;
  const ids = offer.modes.map(({ id }) => id);
  if (requestedMode !== undefined && !ids.includes(requestedMode))
    throw new AgentProblem(`The agent has no mode "${requestedMode}"; it offers: ${ids.join(', ')}.`, 'unknown_mode');
  const strictestMode = askingModes.map((name) => ids.find((id) => id.toLowerCase() === name)).find((id) => id !== undefined);
  const mode = requestedMode ?? ids.find((id) => id === preferredMode) ?? strictestMode ?? current;
  const asks = askingModes.includes(mode.toLowerCase());
  if (mode === current) return { mode, asks };
  return { mode, asks, change: optionId === undefined ? { by: 'mode' } : { by: 'option', optionId } };
}
