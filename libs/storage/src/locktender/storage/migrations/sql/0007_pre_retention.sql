-- What runs leave in the object store is removed one day, and the row says since when. A log may be cut.
set local lock_timeout = '5s';

set local statement_timeout = '60s';

ALTER TABLE locktender.stack_run
	ADD COLUMN log_cut BOOLEAN DEFAULT false NOT NULL,
	ADD COLUMN plan_removed_at TIMESTAMP WITH TIME ZONE,
	ADD COLUMN artifacts_removed_at TIMESTAMP WITH TIME ZONE;

-- One scan over the runs; the timeouts above bound how long writes wait for it.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX ix_stack_run_planned ON locktender.stack_run (created_at, id)
	WHERE plan_removed_at IS NULL AND mode IN ('plan', 'destroy', 'refresh')
	AND status IN ('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded');

-- One scan over the runs; the timeouts above bound how long writes wait for it.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX ix_stack_run_recorded ON locktender.stack_run (created_at, id)
	WHERE artifacts_removed_at IS NULL
	AND status IN ('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded');

-- A run that has ended is final, but for the two notes that its files are gone.
drop trigger stack_run_moves on locktender.stack_run;

create trigger stack_run_moves before update of id, workspace, stack_id, deployment_id, mode, status, runner_group,
  labels, state_locked, targets, excludes, replaces, plan_run_id, prioritized_at, first_pending_at, hinted_at,
  assigned_expires_at, assignment_attempts, assigned_runner_id, remote, lease_owner, lease_epoch, lease_claimed_at,
  lease_expires_at, lease_seconds, token_hash, tool, tool_version, summary, has_changes, binding, analysed, log_end,
  log_cut, exit_code, cancellation_reason, failure, started_at, completed_at, created_at, updated_at
  on locktender.stack_run for each row
  when (old.status <> new.status or new.lease_epoch < old.lease_epoch
    or old.status in ('success', 'failure', 'cancelled', 'timed_out', 'startup_timeout', 'discarded')) execute function locktender.stack_run_guard();
