/** The configuration of a revision as text, for reading and comparing. Pure. */

/** The model or runtime, the procedure, and whatever else is configured. @param {unknown} config */
export function procedureText(config) {
  if (!isObject(config) || !isObject(config.data)) return config == null ? '' : JSON.stringify(config, null, 2);
  const { input, models, ...rest } = config.data;
  const agent = isObject(models) ? models.agent : undefined;
  const model = isObject(agent) && typeof agent.model === 'string' ? agent.model : undefined;
  const others = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined));
  return [
    model === undefined ? '' : `model: ${model}`,
    typeof input === 'string' ? input.trimEnd() : messagesText(input),
    Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** @param {unknown} input */
function messagesText(input) {
  if (!Array.isArray(input)) return input === undefined ? '' : JSON.stringify(input, null, 2);
  return input
    .map((message) => {
      const { role, content } = isObject(message) ? message : {};
      return `${role}:\n${typeof content === 'string' ? content : JSON.stringify(content, null, 2)}`;
    })
    .join('\n\n');
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
