/** Writes the fields of the contract that help shows. */
import { writeFile } from 'node:fs/promises';
import { contractFields, contractFieldsFile } from './contract-fields.ts';

await writeFile(contractFieldsFile, await contractFields());
