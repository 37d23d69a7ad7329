export { createRendering } from './create-rendering.ts';
