-- stack_run.told
-- $1 id, $2 number, $3 workspace, $4 name
SELECT locktender.stack_run.id, locktender.stack_run.workspace, locktender.stack_run.stack_id,
    locktender.stack_run.analysed, locktender.stack_run.summary, locktender.stack_run.artifacts_removed_at,
    locktender.stack_deployment.completed_at AS ended_at
FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_deployment.id =
    locktender.stack_run.deployment_id JOIN locktender.stack ON locktender.stack.id = locktender.stack_run.stack_id
WHERE locktender.stack_run.id = $1::UUID AND locktender.stack_deployment.number = $2::BIGINT AND
    locktender.stack.workspace = $3::VARCHAR AND locktender.stack.name = $4::VARCHAR AND locktender.stack.deleted_at
    IS NULL;
