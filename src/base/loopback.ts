/** Which hosts are this machine. */

/** Whether a host, as an address or as URLs write it, is this machine: `localhost` and names below it (RFC 6761 section 6.3), 127.0.0.0/8, or ::1. */
export const isLoopback = (host: string): boolean =>
  /^(?:.+\.)?localhost$/i.test(host) || /^127(?:\.\d{1,3}){3}$/.test(host) || host === '::1' || host === '[::1]';
