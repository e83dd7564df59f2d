-- deployment_task.list
-- $1 param_2, $2 workspace, $3 statuses, $4 limit
SELECT locktender.deployment_task.id, locktender.deployment_task.workspace, locktender.deployment_task.project,
    locktender.deployment_task.namespace, locktender.deployment_task.server, locktender.deployment_task.display_name,
    locktender.deployment_task.runner, locktender.deployment_task.status, locktender.deployment_task.phase,
    locktender.deployment_task.lease_epoch, locktender.deployment_task.revision,
    locktender.deployment_task.created_by, locktender.deployment_task.created_from,
    locktender.deployment_task.cancel_requested_at, locktender.deployment_task.cancel_requested_by,
    locktender.deployment_task.failure, locktender.deployment_task.lease_claimed_at,
    locktender.deployment_task.started_at, locktender.deployment_task.completed_at,
    locktender.deployment_task.created_at, locktender.deployment_task.updated_at, locktender.deployment_task.timeline
    ->> 'waitUntil' AS wait_until, locktender.deployment_task.predecessor_id, (SELECT successor.id
  FROM locktender.deployment_task AS successor
  WHERE successor.workspace = locktender.deployment_task.workspace AND successor.predecessor_id =
      locktender.deployment_task.id ORDER BY successor.created_at DESC
  LIMIT $1::INTEGER) AS superseded_by, locktender.deployment_task.identity ->> 'instance' AS instance,
      locktender.deployment_task.asked, locktender.deployment_task.resume_requested_at,
      locktender.deployment_task.resume_requested_by
FROM locktender.deployment_task
WHERE locktender.deployment_task.workspace = $2::VARCHAR AND locktender.deployment_task.status = any($3::TEXT[]) ORDER
    BY locktender.deployment_task.created_at DESC, locktender.deployment_task.id DESC
LIMIT $4::BIGINT;
