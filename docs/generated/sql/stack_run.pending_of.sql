-- stack_run.pending_of
-- $1 stack_id, $2 limit
SELECT locktender.stack_run.id, locktender.stack_run.deployment_id
FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_run.status = 'pending' AND
    locktender.stack_deployment.status = 'pending' AND locktender.stack_deployment.id =
    locktender.stack_run.deployment_id
WHERE locktender.stack_run.stack_id = $1::UUID ORDER BY locktender.stack_run.created_at, locktender.stack_run.id
LIMIT $2::BIGINT;
