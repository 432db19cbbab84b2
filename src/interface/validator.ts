/** Validators that name all that is wrong. The library stops after eight findings, and each word of a list that does not fit is one. */
import { Settings } from 'typebox/system';

Settings.Set({ maxErrors: 100 });

export { Compile, type Validator } from 'typebox/compile';
