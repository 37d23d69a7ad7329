import type { Knex } from 'knex';

/**
 * The last word on a membership, of the identity provider or of a member, beside what is in force: the two differ for the creator of an
 * organisation and for a last owner, who is kept. With both stored, events lead to the same state in whatever order they come.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table memberships
      -- null until there was a word after the membership's creation; source_updated_at is its time
      add column source_role text check (source_role in ('owner', 'admin', 'member', 'viewer')),
      add column source_removed boolean,
      -- a member said it here, so that being the organisation's creator does not count
      add column source_is_member boolean not null default false,
      -- the strongest role ever given, by late and outdated events too
      add column strongest_role text check (strongest_role in ('owner', 'admin', 'member', 'viewer'));

    -- the provider's id of the user who created the organisation
    alter table workspaces add column creator_subject text;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table workspaces drop column creator_subject;
    alter table memberships drop column source_role, drop column source_removed, drop column source_is_member, drop column strongest_role;
  `);
}
