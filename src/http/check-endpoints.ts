import { z } from 'zod';
import type { Contract } from './endpoint.ts';

/**
 * Checks all contracts, so that a faulty one stops the start-up instead of failing a request.
 * @throws Error that lists every fault of every contract
 */
export function checkEndpoints(contracts: readonly Contract[]): void {
  const faults = [
    ...contracts.flatMap((contract) => faultsOf(contract).map((fault) => `${contract.operationId}: ${fault}`)),
    ...repeated(contracts.map((contract) => contract.operationId)).map((id) => `operationId ${id} is used twice`),
    ...repeated(contracts.map((contract) => `${contract.method} ${contract.path}`)).map(
      (route) => `${route} is mounted twice`,
    ),
  ];
  if (faults.length > 0) throw new Error(`Endpoint contracts have faults:\n  ${faults.join('\n  ')}`);
}

/** Returns the names of the `{parameters}` in a path. */
function pathParameterNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].flatMap((match) => match[1] ?? []);
}

function faultsOf(contract: Contract): string[] {
  const faults: string[] = [];
  if (!hasAccess(contract.access)) faults.push('declares no access; deny by default');
  const inPath = pathParameterNames(contract.path).sort().join();
  const inSchema = Object.keys(contract.params?.shape ?? {})
    .sort()
    .join();
  if (inPath !== inSchema) faults.push(`path has parameters [${inPath}], its schema [${inSchema}]`);
  if (contract.body && contract.method === 'GET') faults.push('a GET has no body');
  for (const part of ['params', 'query', 'body'] as const) {
    const schema = contract[part];
    if (schema && !isClosed(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))) {
      faults.push(
        `${part} has an object that drops unknown keys silently: use z.strictObject, z.looseObject or z.record`,
      );
    }
  }
  return faults;
}

/**
 * Checks at runtime too, because a contract may come from untyped code and a missing access must
 * never mean open.
 */
function hasAccess(access: unknown): boolean {
  if (typeof access !== 'object' || access === null) return false;
  const [[key, value] = ['', undefined], ...more] = Object.entries(access);
  if (more.length > 0) return false;
  if (key === 'scope') return typeof value === 'string' && value !== '';
  if (key === 'role') return ['viewer', 'member', 'admin', 'owner'].some((role) => role === value);
  return (key === 'open' || key === 'authenticated' || key === 'admin') && value === true;
}

/**
 * Returns false when an object drops unknown keys: its input schema then has `properties` but no
 * `additionalProperties`.
 */
function isClosed(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return true;
  if ('properties' in node && 'type' in node && node.type === 'object' && !('additionalProperties' in node))
    return false;
  return Object.values(node).every(isClosed);
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
