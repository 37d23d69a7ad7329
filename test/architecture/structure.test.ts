import { describe, expect, test } from 'vitest';
import { cyclesOf, moduleGraph, reachedFrom, structureOf } from './module-graph.ts';
import { sources } from './sources.ts';

const product = sources().filter(({ path }) => /^(?:src|workers)\//.test(path));
const figures = structureOf(product);

describe('the worker process', () => {
  const texts = new Map(product.map(({ path, text }) => [path, text]));
  const isHttp = (path: string) => path.startsWith('src/http/');
  const isServer = (path: string) =>
    path.endsWith('.routes.ts') || /from '(?:express|helmet)'/.test(texts.get(path) ?? '');

  test('loads no HTTP, no endpoint and not Express', () => {
    expect(figures.workerFiles.filter((path) => isHttp(path) || isServer(path))).toEqual([]);
  });
  test('loads none of them later either', () => {
    expect(figures.lazyWorkerFiles.filter((path) => isHttp(path) || isServer(path))).toEqual([]);
  });
  test('loads the search for prompts, and the client of models, later', () => {
    const { lazyWorkerFiles } = figures;
    expect(lazyWorkerFiles).toEqual(
      expect.arrayContaining(['src/llm/llm.ts', 'src/domains/optimization/create-jobs.ts']),
    );
  });
  test('loads few files', () => {
    expect(figures.workerFiles.length).toBeLessThanOrEqual(255);
  });
});

test('priceCall loads few files', () => {
  expect(figures.priceCallFiles).toBeLessThanOrEqual(50);
});

test('no files import each other in a circle, not even types', () => {
  expect(figures.cycles).toEqual([]);
});

test('no domain holds more than 16 % of the lines of all', () => {
  expect(figures.domainShares.filter(({ share }) => share > 0.16)).toEqual([]);
});

describe('the graph', () => {
  const files = [
    { path: 'src/a.ts', text: "import { b } from './b.ts';\nimport type { C } from './c.ts';" },
    { path: 'src/b.ts', text: "import './d.ts';" },
    { path: 'src/c.ts', text: "import type { A } from './a.ts';" },
    { path: 'src/d.ts', text: "import { e } from 'express';\nconst e = () => import('./e.ts');" },
    { path: 'src/e.ts', text: '' },
  ];
  test('follows what is loaded with a file, what is loaded later, and types besides', () => {
    const { eager, values, all } = moduleGraph(files);
    expect([...reachedFrom('src/a.ts', eager)].sort()).toEqual(['src/a.ts', 'src/b.ts', 'src/d.ts']);
    expect([...reachedFrom('src/a.ts', values)].sort()).toEqual(['src/a.ts', 'src/b.ts', 'src/d.ts', 'src/e.ts']);
    expect(reachedFrom('src/a.ts', all).size).toBe(5);
  });
  test('finds circles of types', () => {
    const { values, all } = moduleGraph(files);
    expect(cyclesOf(values)).toEqual([]);
    expect(cyclesOf(all)).toEqual([['src/a.ts', 'src/c.ts']]);
  });
});
