/** Every file that is generated from the source, or shows figures of the benchmarks, by its path in the repository. `npm run generate` writes them, and a test compares them. */
import { readFileSync } from 'node:fs';
import { testFileSchema } from '../../src/commands/agents/testing/schema.ts';
import { completionScripts, type Shell } from '../../src/commands/completion/scripts.ts';
import { exportSchema } from '../../src/commands/runs/export/schema.ts';
import { importsIn } from '../structure/imports.ts';
import { structurePicture } from '../structure/structure.ts';
import { outputs, readResults, summary, withFigures } from './benchmarks.ts';
import { contractFields, contractFieldsFile } from './contract-fields.ts';
import { interfacePage } from './interface.ts';
import { manPages } from './man.ts';
import { manualPages } from './manual.ts';

/** Folders that contain only generated files. */
export const generatedFolders = ['docs/manual', 'completions', 'man'] as const;

const completionFiles: Record<Shell, string> = { bash: 'aops.bash', zsh: 'aops.zsh', fish: 'aops.fish', powershell: 'aops.ps1' };

export async function generatedFiles(): Promise<Map<string, string>> {
  const results = readResults();
  const files = new Map([
    ['docs/interface.md', interfacePage()],
    ['docs/agent-test.schema.json', `${JSON.stringify(testFileSchema(), null, 2)}\n`],
    ['docs/run-export.schema.json', `${JSON.stringify(exportSchema(), null, 2)}\n`],
    ['README.md', withFigures(readFileSync('README.md', 'utf8'), summary(results))],
    ['docs/benchmarks.md', withFigures(readFileSync('docs/benchmarks.md', 'utf8'), outputs(results))],
    [contractFieldsFile, await contractFields()],
    ['docs/images/structure.svg', structurePicture(importsIn('src'))],
  ]);
  for (const [name, text] of await manualPages()) files.set(`docs/manual/${name}`, text);
  for (const [name, text] of await manPages()) files.set(`man/${name}`, text);
  for (const [shell, name] of Object.entries(completionFiles)) files.set(`completions/${name}`, completionScripts[shell as Shell]);
  return files;
}
