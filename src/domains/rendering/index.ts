export { createRendering } from './create-rendering.ts';
export { renderingEndpoints } from './rendering.routes.ts';
