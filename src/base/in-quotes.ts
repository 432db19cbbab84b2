/** A text in quotation marks within a sentence; as it is if it contains some itself, because nested ones cannot be read. */
export const inQuotes = (text: string): string => (text.includes('"') ? text : `"${text}"`);
