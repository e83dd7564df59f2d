-- stack_run.log_of
-- $1 id, $2 number, $3 stack_name, $4 workspace
SELECT locktender.stack_run.id, locktender.stack_run.workspace, locktender.stack_run.stack_id,
    locktender.stack_run.status, locktender.stack_run.log_end, locktender.stack_run.log_cut,
    locktender.stack_run.artifacts_removed_at, locktender.stack_deployment.completed_at AS ended_at
FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_deployment.id =
    locktender.stack_run.deployment_id JOIN locktender.stack ON locktender.stack.id = locktender.stack_run.stack_id
WHERE locktender.stack_run.id = $1::UUID AND locktender.stack_deployment.number = $2::BIGINT AND locktender.stack.name
    = $3::VARCHAR AND locktender.stack.workspace = $4::VARCHAR AND locktender.stack.deleted_at IS NULL;
