import { describe, expect, test } from 'vitest';
import { cyclesOf, moduleGraph, reachedFrom, structureOf } from './module-graph.ts';
import { sources } from './sources.ts';

const product = sources().filter(({ path }) => /^(?:src|workers)\//.test(path));
const figures = structureOf(product);

describe('the worker process', () => {
  test('loads no HTTP, no endpoint and not Express', () => {
    const texts = new Map(product.map(({ path, text }) => [path, text]));
    const foreign = figures.workerFiles.filter(
      (path) => /^src\/http\/|\.routes\.ts$/.test(path) || /from 'express'/.test(texts.get(path) ?? ''),
    );
    expect(foreign).toEqual([]);
  });
  test('loads few files', () => {
    expect(figures.workerFiles.length).toBeLessThanOrEqual(230);
  });
});

test('priceCall loads few files', () => {
  expect(figures.priceCallFiles).toBeLessThanOrEqual(60);
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
    { path: 'src/d.ts', text: "import { e } from 'express';" },
  ];
  test('follows values at run time, and types besides', () => {
    const { values, all } = moduleGraph(files);
    expect([...reachedFrom('src/a.ts', values)].sort()).toEqual(['src/a.ts', 'src/b.ts', 'src/d.ts']);
    expect(reachedFrom('src/a.ts', all).size).toBe(4);
  });
  test('finds circles of types', () => {
    const { values, all } = moduleGraph(files);
    expect(cyclesOf(values)).toEqual([]);
    expect(cyclesOf(all)).toEqual([['src/a.ts', 'src/c.ts']]);
  });
});
