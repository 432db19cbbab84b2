import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shippingFor } from '../src/shipping.js';

test('charges nothing for an empty basket', () => {
  assert.equal(shippingFor([]), 0);
});

test('charges for small orders', () => {
  assert.equal(shippingFor([{ price: 4999, quantity: 1 }]), 490);
});

test('ships orders of 50 EUR free of charge', () => {
  assert.equal(shippingFor([{ price: 2500, quantity: 2 }]), 0);
});

test('ships larger orders free of charge', () => {
  assert.equal(shippingFor([{ price: 2500, quantity: 3 }]), 0);
});
