-- deployment_task.by_key
-- $1 workspace, $2 created_by, $3 idempotency_key
SELECT locktender.deployment_task.id, locktender.deployment_task.request_digest
FROM locktender.deployment_task
WHERE locktender.deployment_task.workspace = $1::VARCHAR AND locktender.deployment_task.created_by = $2::VARCHAR AND
    locktender.deployment_task.idempotency_key = $3::VARCHAR;
