/** File systems without hard links, such as some of those that are mounted over a network. */

const errorCodes = new Set<string | undefined>(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL']);

/** Whether a call failed because the file system does not support hard links. */
export const canNotLink = ({ code }: NodeJS.ErrnoException): boolean => errorCodes.has(code);
