/** Validators that report all errors. By default the library stops after eight, and each constant of a union counts as one. */
import { Set as setFormat } from 'typebox/format';
import { Settings } from 'typebox/system';

Settings.Set({ maxErrors: 100 });
// The library's `uri` accepts only RFC 3986. People also write addresses that only the URL Standard accepts, such as those with non-ASCII letters.
setFormat('uri', (value) => URL.canParse(value));

export { Compile, type Validator } from 'typebox/compile';
