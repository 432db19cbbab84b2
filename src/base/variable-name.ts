/** Whether a text is the name of an environment variable (POSIX.1-2017, 8.1), and can be a key of an object. */
export const isVariableName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && text !== '__proto__';

/** What is required of such a name, for messages. */
export const variableNameRule = 'use letters, digits, and _, and begin with a letter or _';
