/** What was written and not sent yet. It outlives reading data anew, going elsewhere in the page, and loading it again. */

const place = (/** @type {string} */ id) => `aops.draft.${id}`;

/** @template Draft @param {string} id @returns {Draft | undefined} */
export function readDraft(id) {
  try {
    return JSON.parse(sessionStorage.getItem(place(id)) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} id @param {unknown} draft */
export function keepDraft(id, draft) {
  try {
    sessionStorage.setItem(place(id), JSON.stringify(draft));
  } catch {
    // Full: it is still in its field.
  }
}

/** @param {string} id */
export const dropDraft = (id) => sessionStorage.removeItem(place(id));
