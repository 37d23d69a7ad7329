import type { Problem } from '../../src/http/problem.ts';
import type { Answer } from './api.ts';
import type { PromptApi } from './prompt-api.ts';

/** A response of `renderPrompt`. */
export interface WireRendered {
  prompt_id: string;
  slug: string;
  version: number;
  label?: string;
  type: 'text' | 'chat';
  rendered?: string;
  messages?: object[];
  config: Record<string, unknown> | null;
  variables: { used: string[]; defaulted: string[]; missing: string[]; unused: string[] };
  parts: { slug: string; version: number }[];
  tokens: { count: number; model: string | null; estimated: boolean };
  estimated_cost: string | null;
  otel_attributes: Record<string, string>;
  warnings: { code: string; message: string; path: string }[];
}

export interface WireLint {
  code: string;
  message: string;
  severity: 'error' | 'warning';
  path: string;
  message_index?: number;
  line: number;
  column: number;
  length: number;
  suggestion?: string;
}

/** A response of `validatePrompt`. */
export interface WireValidated {
  valid: boolean;
  errors: WireLint[];
  warnings: WireLint[];
  variables: {
    name: string;
    path: string;
    required: boolean;
    occurrences: {
      path: string;
      message_index?: number;
      line: number;
      column: number;
      length: number;
      note?: string;
    }[];
  }[];
  placeholders: string[];
  parts: { slug: string; ref: string; status: 'ok' | 'unknown' | 'cycle'; version?: number }[];
  tokens: { count: number; model: string | null; estimated: boolean };
  compatibility?: {
    breaking: boolean;
    added_variables: string[];
    removed_variables: string[];
    newly_required: string[];
    refused_variables: string[];
    type_changed: boolean;
  };
}

export const render = (it: PromptApi, called: string, body: object = {}) =>
  it.ok<WireRendered>('renderPrompt', called, { body });

/** Sends a render that must be refused. `expectProblem` checks the response. */
export const refusedRender = (it: PromptApi, called: string, body: object = {}): Promise<Answer<Problem>> =>
  it.call<Problem>('renderPrompt', called, { body });

export const validate = (it: PromptApi, body: object) => it.ok<WireValidated>('validatePrompt', '', { body });
