-- stack.of_state
-- $1 workspace, $2 name
SELECT locktender.stack.id, locktender.stack.workspace, locktender.stack.project, locktender.stack.name,
    locktender.stack.description, locktender.stack.source, locktender.stack.engine, locktender.stack.runner_group,
    locktender.stack.labels, locktender.stack.auto_approve, locktender.stack.confirmation_timeout_seconds,
    locktender.stack.queued_timeout_seconds, locktender.stack.supersede_after_seconds, locktender.stack.git_token,
    locktender.stack.revision, locktender.stack.last_number, locktender.stack.lane_holder,
    locktender.stack.lane_taken_at, locktender.stack.uncertain_since, locktender.stack.uncertain_run_id,
    locktender.stack.state_version_id, locktender.stack.state_lineage, locktender.stack.state_serial,
    locktender.stack.state_lock, locktender.stack.state_lock_run_id, locktender.stack.state_locked_at,
    locktender.stack.latest_deployment_id, locktender.stack.latest_deployment_number,
    locktender.stack.latest_deployment_mode, locktender.stack.latest_deployment_status,
    locktender.stack.latest_deployment_created_at, locktender.stack.latest_deployment_completed_at,
    locktender.stack.created_by, locktender.stack.created_at, locktender.stack.updated_at, locktender.stack.deleted_at
FROM locktender.stack
WHERE locktender.stack.workspace = $1::VARCHAR AND locktender.stack.name = $2::VARCHAR AND locktender.stack.deleted_at
    IS NULL;
