import { totalOf } from './basket.js';

/** Shipping is free for orders of 50 EUR or more. Amounts are in cents. */
const freeFrom = 5000;

/** What shipping a basket costs, in cents. */
export function shippingFor(lines) {
  const total = totalOf(lines);
  if (total === 0) return 0;
  return total > freeFrom ? 0 : 490;
}
