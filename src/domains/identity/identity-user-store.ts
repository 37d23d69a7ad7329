import { newId, type UserId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';

/**
 * Locks the user with this subject until the transaction ends. Creates an unknown user without a
 * name.
 */
export async function lockUser(transaction: Postgres, subject: string): Promise<{ id: UserId; isNew: boolean }> {
  const inserted = await transaction('users')
    .insert({ id: newId('usr'), subject })
    .onConflict('subject')
    .ignore()
    .returning('id');
  const row = await transaction('users').where({ subject }).forNoKeyUpdate().first<{ id: UserId }>('id');
  return { id: row.id, isNew: inserted.length === 1 };
}

/**
 * Stores what a provider says about a user, unless it is older than the known data or the user is
 * deleted. Returns whether it was stored.
 */
export async function updateUser(
  transaction: Postgres,
  id: UserId,
  said: { email: string | null; name: string | null; at: string },
): Promise<boolean> {
  const result = await transaction.raw<{ rowCount: number }>(
    `update users set email = :email, name = :name, source_updated_at = cast(:at as timestamptz)
     where id = :id and deleted_at is null
       and (coalesce(source_updated_at, '-infinity'), coalesce(email, ''), coalesce(name, ''))
         < (cast(:at as timestamptz), coalesce(:email, ''), coalesce(:name, ''))`,
    { id, ...said },
  );
  return result.rowCount === 1;
}

/**
 * Deletes the data of a user and keeps the id as a tombstone. Repeated deletions keep the earliest
 * time, in any order. Returns whether the user existed before.
 */
export async function deleteUser(transaction: Postgres, id: UserId, at: string): Promise<boolean> {
  const { rows } = await transaction.raw<{ rows: { was_there: boolean }[] }>(
    `update users set email = null, name = null,
       deleted_at = least(users.deleted_at, cast(:at as timestamptz)),
       source_updated_at = least(users.deleted_at, cast(:at as timestamptz))
     from (select id, deleted_at from users where id = :id) as before
     where users.id = before.id
     returning before.deleted_at is null as was_there`,
    { id, at },
  );
  return rows[0]?.was_there === true;
}
