import type { Knex } from 'knex';

/**
 * What the identity provider says of a membership, beside what is in force: the two differ for the creator of an organisation and for
 * a last owner, who is kept. With both stored, events lead to the same state in whatever order they come.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table memberships
      -- null until the provider has spoken of this membership
      add column source_role text check (source_role in ('owner', 'admin', 'member', 'viewer')),
      add column source_removed boolean,
      -- the strongest role it ever gave, late and outdated events included
      add column strongest_role text check (strongest_role in ('owner', 'admin', 'member', 'viewer'));

    -- the provider's id of the user who created the organisation
    alter table workspaces add column creator_subject text;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    alter table workspaces drop column creator_subject;
    alter table memberships drop column source_role, drop column source_removed, drop column strongest_role;
  `);
}
