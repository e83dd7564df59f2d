-- stack_run.add
-- $1 id, $2 workspace, $3 stack_id, $4 deployment_id, $5 mode, $6 runner_group, $7 labels, $8 state_locked, $9
-- targets, $10 excludes, $11 replaces, $12 plan_run_id, $13 prioritized_at
INSERT INTO locktender.stack_run (id, workspace, stack_id, deployment_id, mode, runner_group, labels, state_locked,
    targets, excludes, replaces, plan_run_id, prioritized_at) VALUES ($1::UUID, $2::VARCHAR, $3::UUID, $4::UUID,
    $5::VARCHAR, $6::VARCHAR, $7::JSONB, $8::BOOLEAN, $9::JSONB, $10::JSONB, $11::JSONB, $12::UUID, $13::TIMESTAMP
    WITH TIME ZONE) RETURNING locktender.stack_run.id, locktender.stack_run.workspace, locktender.stack_run.stack_id,
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
    locktender.stack_run.created_at, locktender.stack_run.updated_at;
