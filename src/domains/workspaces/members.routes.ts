import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import { changeMember } from './change-member.ts';
import { listMembers } from './member-store.ts';
import {
  memberParams,
  memberSchema,
  memberToWire,
  pageQuery,
  updateMemberBody,
  workspaceParams,
} from './workspaces.schema.ts';
import type { WorkspacesDeps } from './workspaces-deps.ts';

const position = z.tuple([z.string()]);

/** Creates the endpoints for the members of a workspace. */
export function membersEndpoints<P>(deps: WorkspacesDeps<P>) {
  return [listMembersEndpoint(deps), ...changeEndpoints(deps)];
}

function listMembersEndpoint<P>({ postgres, cursorSecret }: WorkspacesDeps<P>) {
  return endpointsFor<P>().endpoint({
    operationId: 'listMembers',
    method: 'GET',
    path: '/api/workspaces/{workspace_id}/members',
    summary: 'List the members of a workspace',
    tag: 'workspaces',
    access: { role: 'viewer' },
    rateClass: 'read',
    params: workspaceParams,
    query: pageQuery,
    responses: { 200: { description: 'A page of members', schema: listOf(memberSchema) } },
    problems: ['workspace_not_found', 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ params, query }) => {
      const fingerprint = fingerprintOf({ list: 'members', ...params });
      const { cursor, limit } = query;
      const [afterId] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
      const found = await listMembers(postgres, { workspaceId: params.workspace_id, afterId, limit: limit + 1 });
      const after = ({ userId }: { userId: string }) => encodeCursor(cursorSecret, fingerprint, [userId]);
      return { status: 200, body: toPage(found, limit, memberToWire, after) };
    },
  });
}

function changeEndpoints<P>(deps: WorkspacesDeps<P>) {
  const { endpoint } = endpointsFor<P>();
  const common = {
    path: '/api/workspaces/{workspace_id}/members/{user_id}',
    tag: 'workspaces',
    access: { role: 'admin' },
    rateClass: 'write',
    params: memberParams,
    problems: ['workspace_not_found', 'member_not_found', 'last_owner'],
  } as const;
  return [
    endpoint({
      ...common,
      operationId: 'updateMember',
      method: 'PATCH',
      summary: 'Change the role of a member. Only an owner may give or remove the role owner',
      body: updateMemberBody,
      responses: { 200: { description: 'The member', schema: memberSchema } },
      handle: async ({ params, body, principal, requestId }) => {
        const member = await changeMember(deps, {
          workspaceId: params.workspace_id,
          userId: params.user_id,
          role: body.role,
          caller: deps.callerOf(principal, requestId),
        });
        return { status: 200, body: memberToWire(member) };
      },
    }),
    endpoint({
      ...common,
      operationId: 'removeMember',
      method: 'DELETE',
      summary: 'Remove a member from a workspace. The last owner cannot be removed',
      responses: { 204: { description: 'The member is removed' } },
      handle: async ({ params, principal, requestId }) => {
        await changeMember(deps, {
          workspaceId: params.workspace_id,
          userId: params.user_id,
          role: undefined,
          caller: deps.callerOf(principal, requestId),
        });
        return { status: 204 };
      },
    }),
  ];
}
