/** How requests are authorised. Values are secrets: they go into the Authorization header and nowhere else. */

export interface Credential {
  /** The value of the Authorization header. May fetch or refresh a token. */
  authorization(signal?: AbortSignal): Promise<string>;
  /**
   * Called when the service answered 401 to the last value. Resolves to whether there is a new value to try;
   * missing for a static key, which cannot be refreshed.
   */
  refresh?(rejectedToken: string, signal?: AbortSignal): Promise<boolean>;
}

/** A workspace-issued bearer credential (interface part 5). */
export function bearerCredential(token: string): Credential {
  const value = `Bearer ${token}`;
  return { authorization: async () => value };
}
