"""The database functions that only the owner of the schema could run: clock, ids, partitions."""

CLOCK = """create function locktender.now() returns timestamptz language sql stable parallel safe
  as 'select statement_timestamp()';"""

NEW_EVENT_ID = """create function locktender.new_event_id() returns uuid language sql volatile parallel safe as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;"""
"""A version 7 UUID: PostgreSQL has its own only from 18 on."""

OUTBOX_PREPARE = """create function locktender.outbox_prepare(days integer) returns setof text
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  today date := (locktender.now() at time zone 'UTC')::date;
  day date;
  part text;
begin
  for ahead in 0 .. least(greatest(days, 0), 31) loop
    day := today + ahead;
    part := 'outbox_' || to_char(day, 'YYYYMMDD');
    if to_regclass('locktender.' || part) is null
       and not exists (select from locktender.outbox_default o
                       where o.created_at >= day::timestamp at time zone 'UTC'
                         and o.created_at < (day + 1)::timestamp at time zone 'UTC') then
      execute format(
        'create table locktender.%I (like locktender.outbox including defaults including constraints)', part);
      execute format('alter table locktender.outbox attach partition locktender.%I for values from (%L) to (%L)',
        part, day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
      return next part;
    end if;
  end loop;
end $$;"""

OUTBOX_RETIRE = """create function locktender.outbox_retire(retention interval) returns setof text
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  part text;
  unpublished boolean;
begin
  for part in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'locktender.outbox'::regclass and c.relname ~ '^outbox_[0-9]{8}$'
      and (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' <= locktender.now() - retention
    order by c.relname limit 31
  loop
    execute format('select exists (select from locktender.%I where published_at is null)', part) into unpublished;
    if not unpublished then
      execute format('drop table locktender.%I', part);
      return next part;
    end if;
  end loop;
  delete from locktender.outbox_default where published_at is not null and created_at <= locktender.now() - retention;
end $$;"""

FUNCTIONS = (CLOCK, NEW_EVENT_ID, OUTBOX_PREPARE, OUTBOX_RETIRE)
