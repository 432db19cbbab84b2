/** The price of everything in a basket, in cents. */
export const totalOf = (lines) => lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0);
