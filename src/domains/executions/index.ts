export { createExecutions } from './create-executions.ts';
