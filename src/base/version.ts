import { version as packageVersion } from '../../package.json' with { type: 'json' };

/** The version of this package. */
export const version: string = packageVersion;

/** The version of the service interface that aops implements (interface part 9). */
export const interfaceVersion = '2026-07-18';
