-- deployment_task.list
-- $1 workspace, $2 statuses, $3 after_at, $4 after_id, $5 limit
SELECT locktender.deployment_task.id, locktender.deployment_task.workspace, locktender.deployment_task.project,
    locktender.deployment_task.namespace, locktender.deployment_task.server, locktender.deployment_task.display_name,
    locktender.deployment_task.runner, locktender.deployment_task.status, locktender.deployment_task.phase,
    locktender.deployment_task.lease_epoch, locktender.deployment_task.revision,
    locktender.deployment_task.created_by, locktender.deployment_task.created_from,
    locktender.deployment_task.cancel_requested_at, locktender.deployment_task.cancel_requested_by,
    locktender.deployment_task.failure, locktender.deployment_task.lease_claimed_at,
    locktender.deployment_task.started_at, locktender.deployment_task.completed_at,
    locktender.deployment_task.created_at, locktender.deployment_task.updated_at, locktender.deployment_task.timeline
    ->> 'waitUntil' AS wait_until
FROM locktender.deployment_task
WHERE locktender.deployment_task.workspace = $1::VARCHAR AND locktender.deployment_task.status = any($2::TEXT[]) AND
    (locktender.deployment_task.created_at, locktender.deployment_task.id) < ($3::TIMESTAMP WITH TIME ZONE, $4::UUID)
    ORDER BY locktender.deployment_task.created_at DESC, locktender.deployment_task.id DESC
LIMIT $5::BIGINT;
