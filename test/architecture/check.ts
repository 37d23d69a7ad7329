import { posix } from 'node:path';
import {
  bannedNames,
  callHomes,
  defaultExporters,
  domainOrder,
  endpointImporters,
  environmentReaders,
  fileLinesMax,
  indexLinesMax,
  layers,
  longFiles,
  packageHomes,
  tableHomes,
} from './rules.ts';

export interface SourceFile {
  /** Relative to the root of the project, with `/`. */
  path: string;
  text: string;
}

/** Returns every violation of the rules as `path: what`. */
export function breaches(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    [...importBreaches(file), ...textBreaches(file), ...sizeBreaches(file)].map((what) => `${file.path}: ${what}`),
  );
}

export interface Import {
  module: string;
  /** Whether the import does not exist at run time. */
  isType: boolean;
  /** Whether the module is loaded when the program gets there (`import()`), not with the file. */
  isLazy: boolean;
}

/** Returns what a file imports, exports from, or loads with `import()`. Comments are ignored. */
export function importsOf(text: string): Import[] {
  const code = withoutComments(text);
  const named = [...code.matchAll(/^\s*(?:import|export)\b(\s+type\b)?[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm)];
  const bare = [...code.matchAll(/^\s*import\s*['"]([^'"]+)['"]/gm)];
  const lazy = [...code.matchAll(/\bimport\s*\(\s*['"]([^'"]+)['"]/g)];
  return [
    ...named.map(([, type, module = '']) => ({ module, isType: type !== undefined, isLazy: false })),
    ...bare.map(([, module = '']) => ({ module, isType: false, isLazy: false })),
    ...lazy.map(([, module = '']) => ({ module, isType: false, isLazy: true })),
  ];
}

const mayImportEndpoints = (path: string) => isRoutes(path) || endpointImporters.test(path);
const isRoutes = (path: string) => path.endsWith('.routes.ts');
const isWorker = (path: string) => path.startsWith('workers/');
const isProduct = (path: string) => /^(?:src|workers)\//.test(path);

function importBreaches({ path, text }: SourceFile): string[] {
  return importsOf(text).flatMap(({ module }) => {
    if (module.startsWith('.')) return pathBreaches(path, posix.join(posix.dirname(path), module));
    const name = module.split('/', module.startsWith('@') ? 2 : 1).join('/');
    const home = Object.hasOwn(packageHomes, name) ? packageHomes[name] : undefined;
    return isProduct(path) && home && !home.test(path) ? [`imports ${name}, which belongs to ${home.source}`] : [];
  });
}

function pathBreaches(from: string, to: string): string[] {
  const faults: string[] = [];
  const [source, target] = [layerOf(from), layerOf(to)];
  if (source && /^(?:dev|test|bench)\//.test(to))
    faults.push(`imports ${to}; the product never needs dev, test or bench`);
  if (source && target && source.name !== target.name && !source.mayImport.includes(target.name)) {
    faults.push(`${source.name} imports ${target.name} (${to})`);
  }
  const [own, other] = [domainOf(from), domainOf(to)];
  if (isProduct(from) && other && other !== own) {
    const doors = isWorker(from) ? ['index.ts', 'jobs.ts'] : ['index.ts', 'reads.ts'];
    if (!isRoutes(to) && !doors.some((door) => to === `src/domains/${other}/${door}`)) {
      faults.push(`reaches into the domain ${other} (${to}); use its ${doors.join(' or ')}`);
    }
    if (own && domainOrder.indexOf(own) <= domainOrder.indexOf(other)) {
      faults.push(`domain ${own} imports ${other}, which comes after it`);
    }
  }
  if (isProduct(from) && isRoutes(to) && !mayImportEndpoints(from)) {
    faults.push(`imports endpoints (${to}), which belong to ${endpointImporters.source}`);
  }
  return faults;
}

function textBreaches({ path, text }: SourceFile): string[] {
  const code = withoutComments(text);
  const faults: string[] = [];
  if (isProduct(path) && !environmentReaders.test(path) && /\bprocess\s*\.\s*env\b/.test(code)) {
    faults.push('reads process.env; that is for src/config.ts');
  }
  for (const { call, home, instead } of isProduct(path) ? callHomes : []) {
    const [made] = home.test(path) ? [] : (call.exec(code) ?? []);
    if (made !== undefined) faults.push(`calls ${made}…), which belongs to ${home.source}; use ${instead}`);
  }
  if (!defaultExporters.test(path) && /^\s*export\s+default\b|\bas\s+default\b/m.test(code)) {
    faults.push('has a default export');
  }
  for (const [, name = ''] of code.matchAll(/\b(?:class|interface|type|function|const|let)\s+([A-Za-z_$][\w$]*)/g)) {
    if (bannedNames.test(name)) faults.push(`names something ${name}`);
  }
  for (const [, from = '', name = from] of code.matchAll(/\b(?:FROM|JOIN|INTO)\s+([a-z_]+)\b|\btable: '([a-z_]+)'/g)) {
    const home = Object.hasOwn(tableHomes, name) ? tableHomes[name] : undefined;
    if (isProduct(path) && home && !home.test(path))
      faults.push(`names the table ${name}, which belongs to ${home.source}`);
  }
  const domain = domainOf(path);
  if (domain && !domainOrder.includes(domain)) faults.push(`domain ${domain} is not in the order of domains`);
  return faults;
}

function sizeBreaches({ path, text }: SourceFile): string[] {
  const lines = text.trimEnd().split('\n').length;
  const max = /^src\/domains\/[^/]+\/(?:index|jobs)\.ts$/.test(path) ? indexLinesMax : fileLinesMax;
  const bounded = isProduct(path) && !Object.hasOwn(longFiles, path);
  return bounded && lines > max ? [`has ${lines} lines; the limit is ${max}`] : [];
}

const layerOf = (path: string) => layers.find((layer) => layer.files.test(path));
const domainOf = (path: string) => /^src\/domains\/([^/]+)\//.exec(path)?.[1];

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}
