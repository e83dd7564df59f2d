-- stack_run.renew
-- $1 id, $2 epoch
WITH moved AS
  (UPDATE locktender.stack_run SET lease_expires_at=(locktender.now() + (locktender.stack_run.lease_seconds *
      make_interval(secs=>1.0))) WHERE locktender.stack_run.id = $1::UUID AND locktender.stack_run.status IN
      ('running', 'requested_cancellation', 'cancelling') AND locktender.stack_run.lease_epoch = $2::BIGINT RETURNING
      locktender.stack_run.id, locktender.stack_run.workspace, locktender.stack_run.stack_id,
      locktender.stack_run.deployment_id, locktender.stack_run.mode, locktender.stack_run.status,
      locktender.stack_run.runner_group, locktender.stack_run.labels, locktender.stack_run.state_locked,
      locktender.stack_run.targets, locktender.stack_run.excludes, locktender.stack_run.replaces,
      locktender.stack_run.plan_run_id, locktender.stack_run.prioritized_at, locktender.stack_run.first_pending_at,
      locktender.stack_run.hinted_at, locktender.stack_run.assigned_expires_at,
      locktender.stack_run.assignment_attempts, locktender.stack_run.assigned_runner_id, locktender.stack_run.remote,
      locktender.stack_run.lease_owner, locktender.stack_run.lease_epoch, locktender.stack_run.lease_claimed_at,
      locktender.stack_run.lease_expires_at, locktender.stack_run.lease_seconds, locktender.stack_run.token_hash,
      locktender.stack_run.tool, locktender.stack_run.tool_version, locktender.stack_run.summary,
      locktender.stack_run.has_changes, locktender.stack_run.binding, locktender.stack_run.analysed,
      locktender.stack_run.log_end, locktender.stack_run.log_cut, locktender.stack_run.exit_code,
      locktender.stack_run.cancellation_reason, locktender.stack_run.failure, locktender.stack_run.plan_removed_at,
      locktender.stack_run.artifacts_removed_at, locktender.stack_run.started_at, locktender.stack_run.completed_at,
      locktender.stack_run.created_at, locktender.stack_run.updated_at)
SELECT moved.id, moved.workspace, moved.stack_id, moved.deployment_id, moved.mode, moved.status, moved.runner_group,
    moved.labels, moved.state_locked, moved.targets, moved.excludes, moved.replaces, moved.plan_run_id,
    moved.prioritized_at, moved.first_pending_at, moved.hinted_at, moved.assigned_expires_at,
    moved.assignment_attempts, moved.assigned_runner_id, moved.remote, moved.lease_owner, moved.lease_epoch,
    moved.lease_claimed_at, moved.lease_expires_at, moved.lease_seconds, moved.token_hash, moved.tool,
    moved.tool_version, moved.summary, moved.has_changes, moved.binding, moved.analysed, moved.log_end, moved.log_cut,
    moved.exit_code, moved.cancellation_reason, moved.failure, moved.plan_removed_at, moved.artifacts_removed_at,
    moved.started_at, moved.completed_at, moved.created_at, moved.updated_at
FROM moved;
