/** Another node works with the files of a run by now, or they were removed: nothing may be recorded any more. */
export class WorkspaceLostError extends Error {
  constructor() {
    super('The files of the run are no longer changed here.');
    this.name = 'WorkspaceLostError';
  }
}
