/** Validators that name everything that is wrong. By default the library stops after eight findings, and each word of a list that does not fit is one. */
import { Set as setFormat } from 'typebox/format';
import { Settings } from 'typebox/system';

Settings.Set({ maxErrors: 100 });
// The library's `uri` is RFC 3986 alone. People also write addresses that only the URL Standard reads, such as those with letters beyond ASCII.
setFormat('uri', (value) => URL.canParse(value));

export { Compile, type Validator } from 'typebox/compile';
