-- deployment_event.after
-- $1 id, $2 workspace, $3 after, $4 limit
SELECT locktender.deployment_event.revision, locktender.deployment_event.kind, locktender.deployment_event.status,
    locktender.deployment_event.epoch, locktender.deployment_event.actor, locktender.deployment_event.message,
    CAST(locktender.deployment_event.payload AS TEXT) AS payload, locktender.deployment_event.created_at
FROM locktender.deployment_event JOIN locktender.deployment_task ON locktender.deployment_task.id =
    locktender.deployment_event.task_id
WHERE locktender.deployment_task.id = $1::UUID AND locktender.deployment_task.workspace = $2::VARCHAR AND
    locktender.deployment_event.revision > $3::BIGINT ORDER BY locktender.deployment_event.revision
LIMIT $4::BIGINT;
