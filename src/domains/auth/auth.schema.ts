import { z } from 'zod';
import { type PlanName, plans, roles } from '../workspaces/index.ts';

export const contextSchema = z
  .object({
    auth_type: z.enum(['api_key', 'jwt', 'admin']),
    user: z
      .object({
        id: z.string(),
        subject: z.string().meta({ description: 'The id of the user at the identity provider' }),
        email: z.string().nullable(),
        name: z.string().nullable(),
      })
      .optional(),
    role: z.enum(roles).optional().meta({ description: 'The role of the user in this workspace' }),
    key: z.object({ id: z.string(), name: z.string(), expires_at: z.iso.datetime().nullable() }).optional(),
    workspace: z
      .object({ id: z.string(), name: z.string(), plan: z.enum(Object.keys(plans) as PlanName[]) })
      .nullable()
      .meta({ description: 'Null only for the operator' }),
    default_project_id: z.string().nullable(),
    projects: z.array(z.object({ id: z.string(), name: z.string(), is_default: z.boolean() })),
    scopes: z.array(z.string()),
    server_time: z.iso.datetime(),
  })
  .meta({ id: 'CallerContext' });
