export interface Lockfile {
  packages: Record<string, { version?: string; integrity?: string; optional?: boolean; devOptional?: boolean }>;
}
export function nodeVersionFault(version: string): string | undefined;
export function staleReason(lock: Lockfile, installed: Lockfile | undefined): string | undefined;
export function staleInstallation(directory: string): string | undefined;
export function ensureInstalled(root: string): Promise<void>;
export function ensureTestClientsInstalled(root: string): Promise<void>;
