/**
 * A process that runs test files as its parent plans. Files stay transformed in between.
 * It is sent a plan (see runner.js), and sends `{ errors }` when the plan has been carried out.
 */
import path from 'node:path';
import process from 'node:process';
import { createVitest } from 'vitest/node';

// What runs once for all tests, such as creating an empty database, runs in this process: no mutant is active in it.
globalThis.__aopsMutant = () => false;

const config = path.join(import.meta.dirname, 'vitest.config.ts');
const vitest = await createVitest('test', { config, watch: false, run: true });
await vitest.standalone();
// The parent ends tests that hang. It measures time in a way that does not depend on how busy the machine is.
vitest.getRootProject().provide('timeLimit', 3_600_000);

process.on('message', async (plan) => {
  vitest.getRootProject().provide('plan', { ...plan, file: path.resolve(vitest.config.root, plan.file) });
  const specifications = vitest.getModuleSpecifications(path.resolve(vitest.config.root, plan.file));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, false);
  const errors = [...testModules.flatMap((module) => module.errors()), ...unhandledErrors];
  process.send({ errors: errors.map(({ message }) => message) });
});
process.send({ ready: true });
