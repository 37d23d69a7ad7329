import type { TestProject } from 'vitest/node';
import { ensureChromium } from '../../dev/chromium/binary.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    chromiumPath: string;
  }
}

/** Finds or installs the browser once per run. */
export function setup(project: TestProject): void {
  project.provide('chromiumPath', ensureChromium());
}
