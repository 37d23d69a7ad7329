import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import { planOverridesSchema } from './plan-overrides.ts';
import { type PlanName, plans } from './plans.ts';
import type { Project } from './project.ts';
import type { Member, Workspace } from './workspace.ts';
import { roles } from './workspace.ts';

const id = z.string().min(1).max(64);
const name = z.string().trim().min(1).max(200);
const plan = z.enum(Object.keys(plans) as PlanName[]);

export const workspaceParams = z.strictObject({ workspace_id: id });
export const memberParams = z.strictObject({ workspace_id: id, user_id: id });
export const pageQuery = z.strictObject(pageParams);

export const createProjectBody = z.strictObject({ name });
export const updateMemberBody = z.strictObject({ role: z.enum(roles) });
export const updateWorkspaceBody = z
  .strictObject({ name: name.optional(), plan: plan.optional(), plan_overrides: planOverridesSchema.optional() })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    message: 'must have at least one of name, plan and plan_overrides',
  });

export const projectSchema = z
  .object({
    id: z.string().meta({ example: 'prj_01jd8m3q4r5s6t7v8w9x0y1z2a' }),
    workspace_id: z.string(),
    name: z.string(),
    is_default: z.boolean(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Project' });

export const workspaceSchema = z
  .object({
    id: z.string().meta({ example: 'wsp_01jd8m3q4r5s6t7v8w9x0y1z2a' }),
    name: z.string(),
    kind: z.enum(['personal', 'organization']),
    plan,
    plan_overrides: planOverridesSchema,
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Workspace' });

export const memberSchema = z
  .object({
    user_id: z.string().meta({ example: 'usr_01jd8m3q4r5s6t7v8w9x0y1z2a' }),
    email: z.string().nullable(),
    name: z.string().nullable(),
    role: z.enum(roles),
    since: z.iso.datetime(),
  })
  .meta({ id: 'Member' });

/** Converts a project to its API form. */
export function projectToWire(project: Project): z.infer<typeof projectSchema> {
  return {
    id: project.id,
    workspace_id: project.workspaceId,
    name: project.name,
    is_default: project.isDefault,
    created_at: project.createdAt.toISOString(),
  };
}

/** Converts a workspace to its API form. */
export function workspaceToWire(workspace: Workspace): z.infer<typeof workspaceSchema> {
  return {
    id: workspace.id,
    name: workspace.name,
    kind: workspace.kind,
    plan: workspace.plan,
    plan_overrides: workspace.overrides,
    created_at: workspace.createdAt.toISOString(),
  };
}

/** Converts a member to its API form. */
export function memberToWire({ userId, email, name, role, since }: Member): z.infer<typeof memberSchema> {
  return { user_id: userId, email, name, role, since: since.toISOString() };
}
