import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { answerFixed } from '../../http/fixed-content.ts';
import { docsPaths, pagePolicy } from './docs/page.ts';
import type { Documents } from './documents.ts';

const common = {
  method: 'GET',
  tag: 'operations',
  access: { open: true },
  rateClass: 'none',
  conditional: true,
} as const;

/** Creates the endpoints of the API description: the document, and the page with all that it loads. */
export function docsEndpoints({ openapi, page, script, style }: Documents) {
  return [
    endpoint({
      ...common,
      operationId: 'getOpenapi',
      path: '/api/openapi.json',
      summary: 'Get the OpenAPI 3.1 document of this API',
      responses: {
        200: {
          description: 'The document',
          schema: z.looseObject({ openapi: z.string().meta({ example: '3.1.0' }) }),
        },
      },
      handle: async ({ headers }) => answerFixed(await openapi(), headers),
    }),
    endpoint({
      ...common,
      operationId: 'getDocs',
      path: docsPaths.page,
      summary: 'Get the API reference as a web page',
      responses: { 200: { description: 'HTML', contentType: 'text/html', example: '<!doctype html>' } },
      handle: async ({ headers }) => answerFixed(await page(), headers, { 'Content-Security-Policy': pagePolicy }),
    }),
    endpoint({
      ...common,
      operationId: 'getDocsScript',
      path: docsPaths.script,
      summary: 'Get the script of the API reference',
      responses: { 200: { description: 'JavaScript', contentType: 'text/javascript', example: '…' } },
      handle: async ({ headers }) => answerFixed(await script(), headers),
    }),
    endpoint({
      ...common,
      operationId: 'getDocsStyle',
      path: docsPaths.style,
      summary: 'Get the style sheet of the API reference',
      responses: { 200: { description: 'CSS', contentType: 'text/css', example: '…' } },
      handle: async ({ headers }) => answerFixed(await style(), headers),
    }),
  ];
}
