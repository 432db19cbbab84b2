export interface Mutant {
  /** Where the changed text begins and ends in the source, in UTF-16 code units. */
  start: number;
  end: number;
  /** From 1. */
  line: number;
  original: string;
  /** Empty for a statement that is removed. */
  replacement: string;
  /** Whether the changed text is executed when the module is loaded. */
  isTopLevel: boolean;
}

/** The mutants of a source file, in the order of their places; those inside others come after them. */
export function mutantsOf(source: string): Mutant[];

/** The source with every mutant behind its switch. `first` is the number of the first one. */
export function instrument(source: string, mutants: readonly Mutant[], first: number): string;
