-- The first schema. A statement ends with a semicolon and a blank line.
set local lock_timeout = '5s';

set local statement_timeout = '60s';

create schema if not exists locktender;

create function locktender.now() returns timestamptz language sql stable parallel safe
  as 'select statement_timestamp()';

create function locktender.new_event_id() returns uuid language sql volatile parallel safe as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;

CREATE SEQUENCE locktender.outbox_seq;

CREATE TABLE locktender.cleanup_job (
	id UUID DEFAULT locktender.new_event_id() NOT NULL,
	kind TEXT NOT NULL,
	workspace TEXT NOT NULL,
	subject_id UUID NOT NULL,
	generation BIGINT NOT NULL,
	status TEXT DEFAULT 'pending' NOT NULL,
	revision BIGINT DEFAULT 1 NOT NULL,
	lease_owner TEXT,
	lease_epoch BIGINT DEFAULT 0 NOT NULL,
	lease_claimed_at TIMESTAMP WITH TIME ZONE,
	lease_expires_at TIMESTAMP WITH TIME ZONE,
	attempts INTEGER DEFAULT 0 NOT NULL,
	next_attempt_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	hinted_at TIMESTAMP WITH TIME ZONE,
	outcome JSONB,
	last_error TEXT,
	started_at TIMESTAMP WITH TIME ZONE,
	completed_at TIMESTAMP WITH TIME ZONE,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_cleanup_job PRIMARY KEY (id),
	CONSTRAINT ck_cleanup_job_status_known CHECK (status in ('pending', 'running', 'done')),
	CONSTRAINT ck_cleanup_job_owned_iff_leased CHECK ((status in ('running')) = (lease_owner is not null)),
	CONSTRAINT ck_cleanup_job_owner_has_deadline CHECK ((lease_owner is null) = (lease_expires_at is null)),
	CONSTRAINT ck_cleanup_job_completed_iff_terminal CHECK ((status in ('done')) = (completed_at is not null)),
	CONSTRAINT ck_cleanup_job_epoch_counts_up CHECK (lease_epoch >= 0),
	CONSTRAINT ck_cleanup_job_kind_known CHECK (kind in ('retention'))
);

CREATE INDEX ix_cleanup_job_due ON locktender.cleanup_job (next_attempt_at) WHERE status = 'pending';

CREATE INDEX ix_cleanup_job_ended ON locktender.cleanup_job (completed_at) WHERE status = 'done';

CREATE INDEX ix_cleanup_job_expiring ON locktender.cleanup_job (lease_expires_at) WHERE status = 'running';

CREATE UNIQUE INDEX uq_cleanup_job_subject ON locktender.cleanup_job (kind, subject_id);

CREATE TABLE locktender.deployment_task (
	id UUID NOT NULL,
	workspace TEXT NOT NULL,
	project TEXT NOT NULL,
	namespace TEXT,
	server TEXT,
	display_name TEXT NOT NULL,
	created_by TEXT NOT NULL,
	created_from TEXT NOT NULL,
	runner TEXT NOT NULL,
	source JSONB NOT NULL,
	status TEXT NOT NULL,
	phase TEXT NOT NULL,
	timeline JSONB NOT NULL,
	failure JSONB,
	revision BIGINT DEFAULT 1 NOT NULL,
	custodian TEXT,
	hinted_at TIMESTAMP WITH TIME ZONE,
	cancel_requested_at TIMESTAMP WITH TIME ZONE,
	cancel_requested_by TEXT,
	lease_owner TEXT,
	lease_epoch BIGINT DEFAULT 0 NOT NULL,
	lease_claimed_at TIMESTAMP WITH TIME ZONE,
	lease_expires_at TIMESTAMP WITH TIME ZONE,
	predecessor_id UUID,
	idempotency_key TEXT,
	request_digest BYTEA NOT NULL,
	started_at TIMESTAMP WITH TIME ZONE,
	completed_at TIMESTAMP WITH TIME ZONE,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_deployment_task PRIMARY KEY (id),
	CONSTRAINT ck_deployment_task_status_known CHECK (status in ('queued', 'running', 'blocked', 'applying', 'completed', 'failed', 'cancelled')),
	CONSTRAINT ck_deployment_task_owned_iff_leased CHECK ((status in ('running', 'applying')) = (lease_owner is not null)),
	CONSTRAINT ck_deployment_task_owner_has_deadline CHECK ((lease_owner is null) = (lease_expires_at is null)),
	CONSTRAINT ck_deployment_task_completed_iff_terminal CHECK ((status in ('completed', 'failed', 'cancelled')) = (completed_at is not null)),
	CONSTRAINT ck_deployment_task_epoch_counts_up CHECK (lease_epoch >= 0),
	CONSTRAINT ck_deployment_task_phase_known CHECK (phase in ('queued', 'resolve-target', 'prepare', 'plan', 'configure', 'generate-artifacts', 'apply', 'verify', 'completed')),
	CONSTRAINT ck_deployment_task_failed_has_reason CHECK ((status = 'failed') <= (failure is not null)),
	CONSTRAINT ck_deployment_task_revision_counts_up CHECK (revision > 0)
);

CREATE INDEX ix_deployment_task_cancelling ON locktender.deployment_task (cancel_requested_at) WHERE status IN ('running', 'applying') AND cancel_requested_at IS NOT NULL;

CREATE INDEX ix_deployment_task_ended ON locktender.deployment_task (completed_at) WHERE status IN ('completed', 'failed', 'cancelled');

CREATE INDEX ix_deployment_task_expiring ON locktender.deployment_task (lease_expires_at) WHERE status IN ('running', 'applying');

CREATE INDEX ix_deployment_task_hinted ON locktender.deployment_task (hinted_at) WHERE status = 'queued';

CREATE INDEX ix_deployment_task_in_project ON locktender.deployment_task (workspace, project, created_at DESC, id DESC);

CREATE INDEX ix_deployment_task_listed ON locktender.deployment_task (workspace, created_at DESC, id DESC);

CREATE INDEX ix_deployment_task_overrunning ON locktender.deployment_task (lease_claimed_at) WHERE status IN ('running', 'applying');

CREATE INDEX ix_deployment_task_queued ON locktender.deployment_task (created_at) WHERE status = 'queued';

CREATE UNIQUE INDEX uq_deployment_task_active_successor ON locktender.deployment_task (workspace, predecessor_id) WHERE predecessor_id IS NOT NULL AND status IN ('queued', 'running', 'blocked', 'applying');

CREATE UNIQUE INDEX uq_deployment_task_idempotency ON locktender.deployment_task (workspace, created_by, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE locktender.outbox (
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	seq BIGINT DEFAULT nextval('locktender.outbox_seq') NOT NULL,
	event_id UUID DEFAULT locktender.new_event_id() NOT NULL,
	aggregate TEXT NOT NULL,
	shard SMALLINT NOT NULL,
	revision BIGINT,
	tombstone BOOLEAN DEFAULT false NOT NULL,
	subject TEXT NOT NULL,
	type TEXT NOT NULL,
	data JSONB NOT NULL,
	headers JSONB DEFAULT '{}' NOT NULL,
	published_at TIMESTAMP WITH TIME ZONE,
	attempts INTEGER DEFAULT 0 NOT NULL,
	next_attempt_at TIMESTAMP WITH TIME ZONE,
	last_error TEXT,
	CONSTRAINT pk_outbox PRIMARY KEY (created_at, seq),
	CONSTRAINT ck_outbox_revision_counts_up CHECK (revision > 0)
)
 PARTITION BY RANGE (created_at);

CREATE INDEX ix_outbox_failing ON locktender.outbox (aggregate) WHERE published_at IS NULL AND next_attempt_at IS NOT NULL;

CREATE INDEX ix_outbox_unpublished ON locktender.outbox (seq) WHERE published_at IS NULL;

CREATE TABLE locktender.service_shard (
	service TEXT NOT NULL,
	shard SMALLINT NOT NULL,
	owner TEXT,
	epoch BIGINT DEFAULT 0 NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_service_shard PRIMARY KEY (service, shard)
);

CREATE TABLE locktender.deployment_event (
	task_id UUID NOT NULL,
	revision BIGINT NOT NULL,
	kind TEXT NOT NULL,
	status TEXT NOT NULL,
	epoch BIGINT NOT NULL,
	actor TEXT NOT NULL,
	message TEXT NOT NULL,
	payload JSONB NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_deployment_event PRIMARY KEY (task_id, revision),
	CONSTRAINT fk_deployment_event_task_id FOREIGN KEY(task_id) REFERENCES locktender.deployment_task (id) ON DELETE CASCADE
);

create table locktender.outbox_default partition of locktender.outbox default;

create function locktender.outbox_prepare(days integer) returns setof text
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
end $$;

create function locktender.outbox_retire(retention interval) returns setof text
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
end $$;

create or replace function locktender.deployment_task_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception 'deployment_task must start as queued, not %', new.status
      using errcode = 'LT001';
  end if;
  if old.status in ('completed', 'failed', 'cancelled') then
    raise exception 'deployment_task % is % and final', old.id, old.status using errcode = 'LT003';
  end if;
  if old.status <> new.status and (old.status, new.status) not in (('queued', 'running'), ('queued', 'failed'), ('queued', 'cancelled'), ('running', 'blocked'), ('running', 'applying'), ('running', 'failed'), ('running', 'cancelled'), ('blocked', 'running'), ('blocked', 'cancelled'), ('applying', 'completed'), ('applying', 'failed'), ('applying', 'cancelled')) then
    raise exception 'deployment_task % cannot go from % to %', old.id, old.status, new.status
      using errcode = 'LT001';
  end if;
  if new.lease_epoch < old.lease_epoch
     or ((old.status, new.status) in (('blocked', 'running'), ('queued', 'running')) and new.lease_epoch <> old.lease_epoch + 1) then
    raise exception 'deployment_task % is at epoch %, not %', old.id, old.lease_epoch, new.lease_epoch
      using errcode = 'LT002';
  end if;
  return new;
end $$;

create trigger deployment_task_starts before insert on locktender.deployment_task for each row
  when (new.status <> 'queued') execute function locktender.deployment_task_guard();

create trigger deployment_task_moves before update on locktender.deployment_task for each row
  when (old.status <> new.status or new.lease_epoch < old.lease_epoch
    or old.status in ('completed', 'failed', 'cancelled')) execute function locktender.deployment_task_guard();

create or replace function locktender.cleanup_job_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception 'cleanup_job must start as pending, not %', new.status
      using errcode = 'LT001';
  end if;
  if old.status in ('done') then
    raise exception 'cleanup_job % is % and final', old.id, old.status using errcode = 'LT003';
  end if;
  if old.status <> new.status and (old.status, new.status) not in (('pending', 'running'), ('running', 'pending'), ('running', 'done')) then
    raise exception 'cleanup_job % cannot go from % to %', old.id, old.status, new.status
      using errcode = 'LT001';
  end if;
  if new.lease_epoch < old.lease_epoch
     or ((old.status, new.status) in (('pending', 'running')) and new.lease_epoch <> old.lease_epoch + 1) then
    raise exception 'cleanup_job % is at epoch %, not %', old.id, old.lease_epoch, new.lease_epoch
      using errcode = 'LT002';
  end if;
  return new;
end $$;

create trigger cleanup_job_starts before insert on locktender.cleanup_job for each row
  when (new.status <> 'pending') execute function locktender.cleanup_job_guard();

create trigger cleanup_job_moves before update on locktender.cleanup_job for each row
  when (old.status <> new.status or new.lease_epoch < old.lease_epoch
    or old.status in ('done')) execute function locktender.cleanup_job_guard();

select locktender.outbox_prepare(2);
