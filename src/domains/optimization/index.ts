export { createOptimization } from './create-optimization.ts';
