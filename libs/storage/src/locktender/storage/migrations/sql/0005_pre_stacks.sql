-- Stacks, their deployments, stages and runs, their states and their remote runners.
set local lock_timeout = '5s';

set local statement_timeout = '60s';

CREATE TABLE locktender.stack (
	id UUID NOT NULL,
	workspace TEXT NOT NULL,
	project TEXT NOT NULL,
	name TEXT NOT NULL,
	description TEXT DEFAULT '' NOT NULL,
	source JSONB NOT NULL,
	engine TEXT NOT NULL,
	runner_group TEXT NOT NULL,
	labels JSONB DEFAULT '[]' NOT NULL,
	auto_approve TEXT NOT NULL,
	confirmation_timeout_seconds INTEGER,
	queued_timeout_seconds INTEGER,
	supersede_after_seconds INTEGER,
	git_token BYTEA,
	revision BIGINT DEFAULT 1 NOT NULL,
	last_number BIGINT DEFAULT 0 NOT NULL,
	lane_holder UUID,
	lane_taken_at TIMESTAMP WITH TIME ZONE,
	uncertain_since TIMESTAMP WITH TIME ZONE,
	uncertain_run_id UUID,
	state_version_id UUID,
	state_lineage TEXT,
	state_serial BIGINT,
	state_lock JSONB,
	state_lock_run_id UUID,
	state_locked_at TIMESTAMP WITH TIME ZONE,
	latest_deployment_id UUID,
	latest_deployment_number BIGINT,
	latest_deployment_mode TEXT,
	latest_deployment_status TEXT,
	latest_deployment_created_at TIMESTAMP WITH TIME ZONE,
	latest_deployment_completed_at TIMESTAMP WITH TIME ZONE,
	created_by TEXT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	deleted_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_stack PRIMARY KEY (id),
	CONSTRAINT ck_stack_engine_known CHECK (engine in ('auto', 'tofu', 'terraform')),
	CONSTRAINT ck_stack_auto_approve_known CHECK (auto_approve in ('manual', 'auto', 'non_destructive')),
	CONSTRAINT ck_stack_lane_has_start CHECK ((lane_holder is null) = (lane_taken_at is null)),
	CONSTRAINT ck_stack_uncertain_names_run CHECK ((uncertain_since is null) = (uncertain_run_id is null)),
	CONSTRAINT ck_stack_lock_has_start CHECK ((state_lock is null) = (state_locked_at is null)),
	CONSTRAINT ck_stack_state_has_serial CHECK ((state_version_id is null) = (state_serial is null)),
	CONSTRAINT ck_stack_policy_counts CHECK (confirmation_timeout_seconds > 0 and queued_timeout_seconds > 0 and supersede_after_seconds >= 0)
);

CREATE INDEX ix_stack_by_activity ON locktender.stack (workspace, latest_deployment_created_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE INDEX ix_stack_by_status ON locktender.stack (workspace, latest_deployment_status, created_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE INDEX ix_stack_held ON locktender.stack (lane_holder) WHERE lane_holder IS NOT NULL;

CREATE INDEX ix_stack_listed ON locktender.stack (workspace, created_at DESC, id DESC) WHERE deleted_at IS NULL;

CREATE UNIQUE INDEX uq_stack_name ON locktender.stack (workspace, name) WHERE deleted_at IS NULL;

CREATE TABLE locktender.stack_runner_group (
	id UUID NOT NULL,
	workspace TEXT NOT NULL,
	name TEXT NOT NULL,
	labels JSONB DEFAULT '[]' NOT NULL,
	token_hash BYTEA NOT NULL,
	capacity INTEGER NOT NULL,
	last_dispatch_error JSONB,
	created_by TEXT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_runner_group PRIMARY KEY (id),
	CONSTRAINT ck_stack_runner_group_capacity_counts CHECK (capacity > 0),
	CONSTRAINT ck_stack_runner_group_default_is_ours CHECK (name <> 'default')
);

CREATE UNIQUE INDEX uq_stack_runner_group_name ON locktender.stack_runner_group (workspace, name);

CREATE UNIQUE INDEX uq_stack_runner_group_token ON locktender.stack_runner_group (token_hash);

CREATE TABLE locktender.stack_deployment (
	id UUID NOT NULL,
	workspace TEXT NOT NULL,
	stack_id UUID NOT NULL,
	number BIGINT NOT NULL,
	mode TEXT NOT NULL,
	status TEXT DEFAULT 'queued' NOT NULL,
	origin TEXT NOT NULL,
	source JSONB NOT NULL,
	commit_sha TEXT NOT NULL,
	commit JSONB NOT NULL,
	raw_script BYTEA,
	created_by TEXT,
	note TEXT DEFAULT '' NOT NULL,
	prioritized_at TIMESTAMP WITH TIME ZONE,
	prioritized_by TEXT,
	skipped_reason TEXT,
	failure JSONB,
	cancel_requested_at TIMESTAMP WITH TIME ZONE,
	cancel_requested_by TEXT,
	waiting_since TIMESTAMP WITH TIME ZONE,
	revision BIGINT DEFAULT 1 NOT NULL,
	idempotency_key TEXT,
	request_digest BYTEA NOT NULL,
	started_at TIMESTAMP WITH TIME ZONE,
	completed_at TIMESTAMP WITH TIME ZONE,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_deployment PRIMARY KEY (id),
	CONSTRAINT ck_stack_deployment_status_known CHECK (status in ('queued', 'pending', 'planning', 'waiting', 'applying', 'requested_cancellation', 'cancelling', 'finished', 'failed', 'cancelled', 'skipped')),
	CONSTRAINT ck_stack_deployment_completed_iff_terminal CHECK ((status in ('finished', 'failed', 'cancelled', 'skipped')) = (completed_at is not null)),
	CONSTRAINT ck_stack_deployment_mode_known CHECK (mode in ('plan', 'destroy', 'refresh', 'plan_unlocked', 'raw')),
	CONSTRAINT ck_stack_deployment_origin_known CHECK (origin in ('manual', 'retry', 'local', 'scm', 'pull_request', 'promoted_pull_request', 'dependency')),
	CONSTRAINT ck_stack_deployment_skipped_reason_known CHECK (skipped_reason in ('superseded', 'confirmation_timeout', 'queued_timeout', 'retracted', 'pull_request_closed')),
	CONSTRAINT ck_stack_deployment_reason_only_skipped CHECK ((skipped_reason is not null) <= (status = 'skipped')),
	CONSTRAINT ck_stack_deployment_local_only_looks CHECK ((origin = 'local') <= (mode = 'plan_unlocked')),
	CONSTRAINT ck_stack_deployment_script_iff_raw CHECK ((raw_script is not null) = (mode = 'raw')),
	CONSTRAINT ck_stack_deployment_failed_has_reason CHECK ((status = 'failed') <= (failure is not null)),
	CONSTRAINT ck_stack_deployment_waiting_has_start CHECK ((status = 'waiting') = (waiting_since is not null)),
	CONSTRAINT ck_stack_deployment_revision_counts_up CHECK (revision > 0),
	CONSTRAINT fk_stack_deployment_stack_id FOREIGN KEY(stack_id) REFERENCES locktender.stack (id)
);

CREATE INDEX ix_stack_deployment_active ON locktender.stack_deployment (stack_id, created_at, id) WHERE status IN ('queued', 'pending', 'planning', 'waiting', 'applying', 'requested_cancellation', 'cancelling');

CREATE INDEX ix_stack_deployment_ageing ON locktender.stack_deployment (created_at) WHERE status = 'queued';

CREATE INDEX ix_stack_deployment_commit ON locktender.stack_deployment (stack_id, commit_sha, created_at DESC);

CREATE INDEX ix_stack_deployment_lane ON locktender.stack_deployment (stack_id, prioritized_at, created_at, id) WHERE status = 'queued' AND mode != 'plan_unlocked';

CREATE INDEX ix_stack_deployment_listed ON locktender.stack_deployment (stack_id, created_at DESC, id DESC);

CREATE INDEX ix_stack_deployment_queue ON locktender.stack_deployment (workspace, prioritized_at, created_at, id) WHERE status IN ('queued', 'pending');

CREATE INDEX ix_stack_deployment_waiting ON locktender.stack_deployment (waiting_since) WHERE status = 'waiting';

CREATE UNIQUE INDEX uq_stack_deployment_idempotency ON locktender.stack_deployment (workspace, created_by, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE UNIQUE INDEX uq_stack_deployment_number ON locktender.stack_deployment (stack_id, number);

CREATE TABLE locktender.stack_runner (
	id UUID NOT NULL,
	group_id UUID NOT NULL,
	name TEXT NOT NULL,
	status TEXT NOT NULL,
	run_id UUID,
	assignment_hash BYTEA,
	last_seen_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_runner PRIMARY KEY (id),
	CONSTRAINT ck_stack_runner_status_known CHECK (status in ('not-ready', 'ready')),
	CONSTRAINT fk_stack_runner_group_id FOREIGN KEY(group_id) REFERENCES locktender.stack_runner_group (id) ON DELETE CASCADE
);

CREATE INDEX ix_stack_runner_of_group ON locktender.stack_runner (group_id, created_at);

CREATE INDEX ix_stack_runner_seen ON locktender.stack_runner (last_seen_at);

CREATE UNIQUE INDEX uq_stack_runner_run ON locktender.stack_runner (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE locktender.stack_state (
	id UUID NOT NULL,
	stack_id UUID NOT NULL,
	serial BIGINT NOT NULL,
	lineage TEXT NOT NULL,
	object_key TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	size BIGINT NOT NULL,
	origin TEXT NOT NULL,
	run_id UUID,
	epoch BIGINT,
	created_by TEXT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_state PRIMARY KEY (id),
	CONSTRAINT ck_stack_state_origin_known CHECK (origin in ('run', 'import', 'rollback', 'push')),
	CONSTRAINT ck_stack_state_run_has_epoch CHECK ((run_id is null) = (epoch is null)),
	CONSTRAINT fk_stack_state_stack_id FOREIGN KEY(stack_id) REFERENCES locktender.stack (id)
);

CREATE INDEX ix_stack_state_versions ON locktender.stack_state (stack_id, created_at DESC, id DESC);

CREATE TABLE locktender.stack_variable (
	stack_id UUID NOT NULL,
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	value TEXT,
	sealed BYTEA,
	updated_by TEXT NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_variable PRIMARY KEY (stack_id, kind, name),
	CONSTRAINT ck_stack_variable_kind_known CHECK (kind in ('variable', 'environment')),
	CONSTRAINT ck_stack_variable_plain_or_sealed CHECK ((value is null) <> (sealed is null)),
	CONSTRAINT fk_stack_variable_stack_id FOREIGN KEY(stack_id) REFERENCES locktender.stack (id) ON DELETE CASCADE
);

CREATE TABLE locktender.stack_activity (
	id UUID DEFAULT locktender.new_event_id() NOT NULL,
	deployment_id UUID NOT NULL,
	kind TEXT NOT NULL,
	actor TEXT,
	stage_id UUID,
	details JSONB DEFAULT '{}' NOT NULL,
	transaction TEXT DEFAULT (pg_current_xact_id())::text NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_activity PRIMARY KEY (id),
	CONSTRAINT ck_stack_activity_kind_known CHECK (kind in ('created', 'confirmed_apply', 'confirmed_replan', 'confirmed_skip', 'skipped', 'cancellation_requested', 'prioritized', 'deprioritized', 'auto_applied', 'auto_approve_suppressed')),
	CONSTRAINT ck_stack_activity_somebody_did_it CHECK (actor is not null or kind in ('created', 'auto_applied', 'auto_approve_suppressed')),
	CONSTRAINT fk_stack_activity_deployment_id FOREIGN KEY(deployment_id) REFERENCES locktender.stack_deployment (id) ON DELETE CASCADE
);

CREATE INDEX ix_stack_activity_trail ON locktender.stack_activity (deployment_id, created_at, id);

CREATE UNIQUE INDEX uq_stack_activity_act ON locktender.stack_activity (deployment_id, transaction);

CREATE TABLE locktender.stack_event (
	deployment_id UUID NOT NULL,
	revision BIGINT NOT NULL,
	kind TEXT NOT NULL,
	status TEXT NOT NULL,
	actor TEXT NOT NULL,
	message TEXT NOT NULL,
	payload JSONB NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_event PRIMARY KEY (deployment_id, revision),
	CONSTRAINT fk_stack_event_deployment_id FOREIGN KEY(deployment_id) REFERENCES locktender.stack_deployment (id) ON DELETE CASCADE
);

CREATE TABLE locktender.stack_run (
	id UUID NOT NULL,
	workspace TEXT NOT NULL,
	stack_id UUID NOT NULL,
	deployment_id UUID NOT NULL,
	mode TEXT NOT NULL,
	status TEXT DEFAULT 'queued' NOT NULL,
	runner_group TEXT NOT NULL,
	labels JSONB DEFAULT '[]' NOT NULL,
	state_locked BOOLEAN NOT NULL,
	targets JSONB DEFAULT '[]' NOT NULL,
	excludes JSONB DEFAULT '[]' NOT NULL,
	replaces JSONB DEFAULT '[]' NOT NULL,
	plan_run_id UUID,
	prioritized_at TIMESTAMP WITH TIME ZONE,
	first_pending_at TIMESTAMP WITH TIME ZONE,
	hinted_at TIMESTAMP WITH TIME ZONE,
	assigned_expires_at TIMESTAMP WITH TIME ZONE,
	assignment_attempts INTEGER DEFAULT 0 NOT NULL,
	assigned_runner_id UUID,
	remote BOOLEAN DEFAULT false NOT NULL,
	lease_owner TEXT,
	lease_epoch BIGINT DEFAULT 0 NOT NULL,
	lease_claimed_at TIMESTAMP WITH TIME ZONE,
	lease_expires_at TIMESTAMP WITH TIME ZONE,
	lease_seconds INTEGER,
	token_hash BYTEA,
	tool TEXT,
	tool_version TEXT,
	summary JSONB,
	has_changes BOOLEAN,
	binding JSONB,
	analysed BOOLEAN DEFAULT false NOT NULL,
	log_end BIGINT DEFAULT 0 NOT NULL,
	exit_code INTEGER,
	cancellation_reason TEXT,
	failure JSONB,
	started_at TIMESTAMP WITH TIME ZONE,
	completed_at TIMESTAMP WITH TIME ZONE,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_run PRIMARY KEY (id),
	CONSTRAINT ck_stack_run_status_known CHECK (status in ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling', 'success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded')),
	CONSTRAINT ck_stack_run_owned_iff_leased CHECK ((status in ('running', 'requested_cancellation', 'cancelling')) = (lease_owner is not null)),
	CONSTRAINT ck_stack_run_owner_has_deadline CHECK ((lease_owner is null) = (lease_expires_at is null)),
	CONSTRAINT ck_stack_run_epoch_counts_up CHECK (lease_epoch >= 0),
	CONSTRAINT ck_stack_run_completed_iff_terminal CHECK ((status in ('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded')) = (completed_at is not null)),
	CONSTRAINT ck_stack_run_mode_known CHECK (mode in ('plan', 'destroy', 'refresh', 'apply', 'raw')),
	CONSTRAINT ck_stack_run_targets_or_excludes CHECK (targets = '[]' or excludes = '[]'),
	CONSTRAINT ck_stack_run_apply_names_plan CHECK ((mode = 'apply') = (plan_run_id is not null)),
	CONSTRAINT ck_stack_run_assigned_has_deadline CHECK ((status = 'assigned') <= (assigned_expires_at is not null)),
	CONSTRAINT ck_stack_run_token_needs_lease CHECK ((lease_owner is null) <= (token_hash is null)),
	CONSTRAINT ck_stack_run_lease_has_length CHECK ((lease_owner is null) = (lease_seconds is null)),
	CONSTRAINT fk_stack_run_stack_id FOREIGN KEY(stack_id) REFERENCES locktender.stack (id),
	CONSTRAINT fk_stack_run_deployment_id FOREIGN KEY(deployment_id) REFERENCES locktender.stack_deployment (id) ON DELETE CASCADE
);

CREATE INDEX ix_stack_run_analysed ON locktender.stack_run (stack_id, completed_at DESC) WHERE analysed;

CREATE INDEX ix_stack_run_assigned ON locktender.stack_run (assigned_expires_at) WHERE status = 'assigned';

CREATE INDEX ix_stack_run_expiring ON locktender.stack_run (lease_expires_at) WHERE status IN ('running', 'requested_cancellation', 'cancelling');

CREATE INDEX ix_stack_run_hinted ON locktender.stack_run (hinted_at) WHERE status = 'pending';

CREATE INDEX ix_stack_run_of_deployment ON locktender.stack_run (deployment_id, created_at);

CREATE INDEX ix_stack_run_pending ON locktender.stack_run (runner_group, prioritized_at, created_at, id) WHERE status = 'pending';

CREATE INDEX ix_stack_run_starting ON locktender.stack_run (first_pending_at) WHERE status IN ('pending', 'assigned');

CREATE UNIQUE INDEX uq_stack_run_lane ON locktender.stack_run (stack_id) WHERE state_locked AND status IN ('pending', 'assigned', 'running', 'requested_cancellation', 'cancelling');

CREATE UNIQUE INDEX uq_stack_run_open ON locktender.stack_run (deployment_id) WHERE status IN ('queued', 'pending', 'assigned', 'running', 'requested_cancellation', 'cancelling');

CREATE TABLE locktender.stack_stage (
	id UUID NOT NULL,
	deployment_id UUID NOT NULL,
	ordinal INTEGER NOT NULL,
	kind TEXT NOT NULL,
	status TEXT DEFAULT 'waiting' NOT NULL,
	run_id UUID,
	completed_at TIMESTAMP WITH TIME ZONE,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT locktender.now() NOT NULL,
	CONSTRAINT pk_stack_stage PRIMARY KEY (id),
	CONSTRAINT ck_stack_stage_status_known CHECK (status in ('waiting', 'running', 'requested_cancellation', 'cancelling', 'done', 'failed', 'cancelled', 'skipped')),
	CONSTRAINT ck_stack_stage_completed_iff_terminal CHECK ((status in ('done', 'failed', 'cancelled', 'skipped')) = (completed_at is not null)),
	CONSTRAINT ck_stack_stage_kind_known CHECK (kind in ('plan_run', 'destroy_run', 'refresh_run', 'apply_run', 'raw_run', 'confirmation')),
	CONSTRAINT ck_stack_stage_confirmation_has_no_run CHECK ((kind = 'confirmation') = (run_id is null)),
	CONSTRAINT fk_stack_stage_deployment_id FOREIGN KEY(deployment_id) REFERENCES locktender.stack_deployment (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX uq_stack_stage_open ON locktender.stack_stage (deployment_id) WHERE status IN ('waiting', 'running', 'requested_cancellation', 'cancelling');

CREATE UNIQUE INDEX uq_stack_stage_ordinal ON locktender.stack_stage (deployment_id, ordinal);

create or replace function locktender.stack_deployment_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception 'stack_deployment must start as queued, not %', new.status
      using errcode = 'LT001';
  end if;
  if old.status in ('finished', 'failed', 'cancelled', 'skipped') then
    raise exception 'stack_deployment % is % and final', old.id, old.status using errcode = 'LT003';
  end if;
  if old.status <> new.status and (old.status, new.status) not in (('queued', 'pending'), ('queued', 'failed'), ('queued', 'skipped'), ('pending', 'planning'), ('pending', 'applying'), ('pending', 'failed'), ('pending', 'cancelled'), ('pending', 'skipped'), ('planning', 'waiting'), ('planning', 'applying'), ('planning', 'requested_cancellation'), ('planning', 'finished'), ('planning', 'failed'), ('planning', 'cancelled'), ('waiting', 'pending'), ('waiting', 'applying'), ('waiting', 'skipped'), ('applying', 'requested_cancellation'), ('applying', 'finished'), ('applying', 'failed'), ('applying', 'cancelled'), ('requested_cancellation', 'cancelling'), ('requested_cancellation', 'finished'), ('requested_cancellation', 'failed'), ('requested_cancellation', 'cancelled'), ('cancelling', 'failed'), ('cancelling', 'cancelled')) then
    raise exception 'stack_deployment % cannot go from % to %', old.id, old.status, new.status
      using errcode = 'LT001';
  end if;
  return new;
end $$;

create trigger stack_deployment_starts before insert on locktender.stack_deployment for each row
  when (new.status <> 'queued') execute function locktender.stack_deployment_guard();

create trigger stack_deployment_moves before update on locktender.stack_deployment for each row
  when (old.status <> new.status
    or old.status in ('finished', 'failed', 'cancelled', 'skipped')) execute function locktender.stack_deployment_guard();

create or replace function locktender.stack_stage_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception 'stack_stage must start as waiting, not %', new.status
      using errcode = 'LT001';
  end if;
  if old.status in ('done', 'failed', 'cancelled', 'skipped') then
    raise exception 'stack_stage % is % and final', old.id, old.status using errcode = 'LT003';
  end if;
  if old.status <> new.status and (old.status, new.status) not in (('waiting', 'running'), ('waiting', 'failed'), ('waiting', 'cancelled'), ('waiting', 'skipped'), ('running', 'requested_cancellation'), ('running', 'done'), ('running', 'failed'), ('running', 'cancelled'), ('running', 'skipped'), ('requested_cancellation', 'cancelling'), ('requested_cancellation', 'done'), ('requested_cancellation', 'failed'), ('requested_cancellation', 'cancelled'), ('cancelling', 'failed'), ('cancelling', 'cancelled')) then
    raise exception 'stack_stage % cannot go from % to %', old.id, old.status, new.status
      using errcode = 'LT001';
  end if;
  return new;
end $$;

create trigger stack_stage_starts before insert on locktender.stack_stage for each row
  when (new.status <> 'waiting') execute function locktender.stack_stage_guard();

create trigger stack_stage_moves before update on locktender.stack_stage for each row
  when (old.status <> new.status
    or old.status in ('done', 'failed', 'cancelled', 'skipped')) execute function locktender.stack_stage_guard();

create or replace function locktender.stack_run_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception 'stack_run must start as queued, not %', new.status
      using errcode = 'LT001';
  end if;
  if old.status in ('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded') then
    raise exception 'stack_run % is % and final', old.id, old.status using errcode = 'LT003';
  end if;
  if old.status <> new.status and (old.status, new.status) not in (('queued', 'pending'), ('queued', 'failure'), ('queued', 'cancelled'), ('queued', 'discarded'), ('pending', 'assigned'), ('pending', 'failure'), ('pending', 'cancelled'), ('pending', 'startup_timeout'), ('pending', 'discarded'), ('assigned', 'pending'), ('assigned', 'running'), ('assigned', 'failure'), ('assigned', 'cancelled'), ('assigned', 'startup_timeout'), ('running', 'requested_cancellation'), ('running', 'success'), ('running', 'failure'), ('running', 'cancelled'), ('running', 'timed_out'), ('requested_cancellation', 'cancelling'), ('requested_cancellation', 'success'), ('requested_cancellation', 'failure'), ('requested_cancellation', 'cancelled'), ('requested_cancellation', 'timed_out'), ('cancelling', 'cancelled'), ('cancelling', 'timed_out')) then
    raise exception 'stack_run % cannot go from % to %', old.id, old.status, new.status
      using errcode = 'LT001';
  end if;
  if new.lease_epoch < old.lease_epoch
     or ((old.status, new.status) in (('assigned', 'running')) and new.lease_epoch <> old.lease_epoch + 1) then
    raise exception 'stack_run % is at epoch %, not %', old.id, old.lease_epoch, new.lease_epoch
      using errcode = 'LT002';
  end if;
  return new;
end $$;

create trigger stack_run_starts before insert on locktender.stack_run for each row
  when (new.status <> 'queued') execute function locktender.stack_run_guard();

create trigger stack_run_moves before update on locktender.stack_run for each row
  when (old.status <> new.status or new.lease_epoch < old.lease_epoch
    or old.status in ('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded')) execute function locktender.stack_run_guard();

create or replace function locktender.stack_lane_guard() returns trigger language plpgsql as $$
declare
  holder uuid;
begin
  select s.lane_holder into holder from locktender.stack s where s.id = new.stack_id;
  if holder is not null then
    if exists (select from locktender.stack_deployment d where d.id = holder and d.status in ('finished', 'failed', 'cancelled', 'skipped')) then
      raise exception 'deployment % has ended and holds the lane of stack %', holder, new.stack_id
        using errcode = 'LT004';
    end if;
  elsif exists (select from locktender.stack_deployment d where d.stack_id = new.stack_id
                and d.status = 'queued' and d.mode <> 'plan_unlocked') then
    raise exception 'the lane of stack % is free while a deployment waits for it', new.stack_id
      using errcode = 'LT005';
  end if;
  return null;
end $$;

create constraint trigger stack_lane_guard after insert or update of status
  on locktender.stack_deployment deferrable initially deferred
  for each row execute function locktender.stack_lane_guard();
