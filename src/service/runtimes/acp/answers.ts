/**
 * Checks the answers of agents to requests, as far as they are used. The SDK checks only what agents send on their own. Like the protocol,
 * this ignores what it does not know.
 */
import { isObject, type JsonObject } from '../../../base/values.ts';
import { AgentProblem } from './problems.ts';

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, Check>>;

const isNumber: Check = (value) => typeof value === 'number';
const isText: Check = (value) => typeof value === 'string';
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const objectWith =
  (fields: Fields): Check =>
  (value) =>
    isObject(value) && wrongField(value, fields) === undefined;

const wrongField = (value: JsonObject, fields: Fields): string | undefined =>
  Object.keys(fields).find((name) => !(fields[name] as Check)(value[name]));

const isValue = objectWith({ value: isText, name: isText });
const isModeOption = objectWith({
  id: isText,
  currentValue: isText,
  options: listOf((entry) => isValue(entry) || objectWith({ options: listOf(isValue) })(entry)),
});
const sessionFields: Fields = {
  modes: optional(objectWith({ currentModeId: isText, availableModes: listOf(objectWith({ id: isText, name: isText })) })),
  configOptions: optional(
    listOf((option) => isObject(option) && (option.type !== 'select' || option.category !== 'mode' || isModeOption(option))),
  ),
};

/** By method, what has to be in an answer. */
const fieldsOfAnswers: Readonly<Record<string, Fields>> = {
  initialize: { protocolVersion: isNumber },
  'session/new': { sessionId: isText, ...sessionFields },
  'session/resume': sessionFields,
  'session/load': sessionFields,
  'session/prompt': { stopReason: isText },
};

const isAgentInfo = objectWith({ name: optional(isText), title: optional(isText), version: optional(isText) });
const isAuthMethod = objectWith({ id: isText, name: isText, description: optional(isText) });

/** An answer without what only describes the agent, as far as that is not valid. */
const withValidDescription = ({ agentInfo, authMethods, ...answer }: JsonObject): JsonObject => ({
  ...answer,
  ...(isAgentInfo(agentInfo) ? { agentInfo } : {}),
  ...(Array.isArray(authMethods) ? { authMethods: authMethods.filter(isAuthMethod) } : {}),
});

/** An answer without content is an empty object. @throws AgentProblem for one that cannot be used */
export function checkedAnswer(method: string, received: unknown): unknown {
  const fields = fieldsOfAnswers[method];
  if (fields === undefined) return received;
  const answer = isObject(received) ? received : {};
  const field = wrongField(answer, fields);
  if (field !== undefined)
    throw new AgentProblem(`The agent does not follow the Agent Client Protocol: its answer to \`${method}\` has no valid \`${field}\`.`);
  return method === 'initialize' ? withValidDescription(answer) : answer;
}
