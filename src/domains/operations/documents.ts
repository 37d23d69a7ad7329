import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type FixedContent, fixedContent } from '../../http/fixed-content.ts';
import { docsPage, startScript } from './docs/page.ts';

/**
 * The API description as a document and as a page with its script and style. Each is created once
 * per process.
 */
export interface Documents {
  openapi: () => Promise<FixedContent>;
  page: () => Promise<FixedContent>;
  script: () => Promise<FixedContent>;
  style: () => Promise<FixedContent>;
  /** Creates all of them. Call it before requests arrive. */
  make: () => Promise<void>;
}

/**
 * Creates the documents on first use.
 * @param openapi returns the document of all endpoints; called once
 */
export function createDocuments(openapi: () => Promise<object>): Documents {
  const documents = {
    openapi: madeOnce(async () => fixedContent(JSON.stringify(await openapi()), 'application/json')),
    page: madeOnce(() => fixedContent(docsPage('Promptlane API'), 'text/html; charset=utf-8')),
    script: madeOnce(async () => {
      const script = Buffer.concat([await swaggerUi('swagger-ui-bundle.js'), Buffer.from(startScript)]);
      return fixedContent(script, 'text/javascript; charset=utf-8');
    }),
    style: madeOnce(async () => fixedContent(await swaggerUi('swagger-ui.css'), 'text/css; charset=utf-8')),
  };
  return {
    ...documents,
    make: async () => {
      for (const document of Object.values(documents)) await document();
    },
  };
}

function swaggerUi(file: string): Promise<Buffer> {
  return readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`));
}

function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
