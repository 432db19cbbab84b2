export function reportOf(name: string, result: object): string;
