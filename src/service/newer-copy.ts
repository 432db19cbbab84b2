/** The error for a copy of the data of a service that this version cannot read. */
import { AopsError, exitCodes } from '../base/errors.ts';

const verbs = { backup: 'restore', export: 'import' } as const;

/** @param version of aops that wrote it @param feature the part of it that this version does not support */
export const newerCopy = (kind: keyof typeof verbs, version: string, feature: string): AopsError =>
  new AopsError(`The ${kind} was written by a newer version of aops, ${version} (it has ${feature}).`, {
    code: `${kind}_newer`,
    exit: exitCodes.conflict,
    hint: `Upgrade aops, then ${verbs[kind]} it.`,
  });
