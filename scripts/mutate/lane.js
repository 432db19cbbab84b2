/**
 * A process that runs test files again and again, with another mutant each time. Files stay transformed in between.
 * It is sent `{ mutant, reached, tests, bail }` and answers `{ failed, durations }`.
 */
import path from 'node:path';
import process from 'node:process';
import { createVitest } from 'vitest/node';

const config = path.join(import.meta.dirname, 'vitest.config.ts');
const vitest = await createVitest('test', { config, watch: false, run: true });
await vitest.standalone();

process.on('message', async ({ mutant, reached, tests, bail }) => {
  const project = vitest.getRootProject();
  project.provide('mutant', mutant);
  project.provide('reached', reached);
  vitest.config.bail = bail;
  project.config.bail = bail;
  const specifications = tests.flatMap((test) => vitest.getModuleSpecifications(path.resolve(vitest.config.root, test)));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications, false);
  process.send({
    failed: unhandledErrors.length > 0 || testModules.some((module) => module.state() === 'failed' || !module.ok()),
    errors: bail === 0 ? [...unhandledErrors.map(String), ...testModules.flatMap(failures)] : [],
    durations: testModules.map((module) => [
      path.relative(vitest.config.root, module.moduleId),
      module.diagnostic().duration + module.diagnostic().collectDuration,
    ]),
  });
});
process.send({ ready: true });

function failures(module) {
  const tests = [...module.children.allTests('failed')].map((test) => `${module.relativeModuleId} > ${test.fullName}`);
  return [...module.errors().map((error) => `${module.relativeModuleId}: ${error.message}`), ...tests];
}
