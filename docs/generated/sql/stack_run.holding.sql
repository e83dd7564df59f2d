-- stack_run.holding
-- $1 id, $2 stack_id, $3 token_hash
SELECT locktender.stack_run.id, locktender.stack_run.workspace, locktender.stack_run.stack_id,
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
    locktender.stack_run.created_at, locktender.stack_run.updated_at
FROM locktender.stack_run
WHERE locktender.stack_run.id = $1::UUID AND locktender.stack_run.stack_id = $2::UUID AND
    locktender.stack_run.token_hash = $3::BYTEA AND locktender.stack_run.status IN ('running',
    'requested_cancellation', 'cancelling') AND locktender.stack_run.lease_expires_at > locktender.now() FOR UPDATE;
