import { z } from 'zod';
import type { Project } from './project.ts';

export const workspaceParams = z.strictObject({ workspace_id: z.string().min(1).max(64) });

export const createProjectBody = z.strictObject({ name: z.string().trim().min(1).max(200) });

export const projectSchema = z.object({
  id: z.string().meta({ example: 'prj_01jd8m3q4r5s6t7v8w9x0y1z2a' }),
  workspace_id: z.string(),
  name: z.string(),
  created_at: z.iso.datetime(),
});

export function projectToWire(project: Project): z.infer<typeof projectSchema> {
  return {
    id: project.id,
    workspace_id: project.workspaceId,
    name: project.name,
    created_at: project.createdAt.toISOString(),
  };
}
