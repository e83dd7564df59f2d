-- stack.starting
-- $1 stack_id, $2 param_2
SELECT locktender.stack_run.id, locktender.stack_run.deployment_id, locktender.stack_deployment.status AS
    deployment_status
FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_deployment.id =
    locktender.stack_run.deployment_id JOIN locktender.stack ON locktender.stack.id = locktender.stack_run.stack_id
WHERE locktender.stack_run.deployment_id = locktender.stack.lane_holder AND locktender.stack.id = $1::UUID AND
    locktender.stack_run.status = 'queued'
LIMIT $2::INTEGER;
