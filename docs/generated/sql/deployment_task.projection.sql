-- deployment_task.projection
-- $1 param_1, $2 id, $3 workspace
SELECT locktender.deployment_task.id, locktender.deployment_task.workspace, locktender.deployment_task.project,
    locktender.deployment_task.display_name, locktender.deployment_task.runner, locktender.deployment_task.status,
    locktender.deployment_task.phase, locktender.deployment_task.revision, locktender.deployment_task.predecessor_id,
    (SELECT successor.id
  FROM locktender.deployment_task AS successor
  WHERE successor.workspace = locktender.deployment_task.workspace AND successor.predecessor_id =
      locktender.deployment_task.id ORDER BY successor.created_at DESC
  LIMIT $1::INTEGER) AS superseded_by, locktender.deployment_task.cancel_requested_at,
      locktender.deployment_task.resume_requested_at, locktender.deployment_task.completed_at,
      locktender.deployment_task.created_at, locktender.deployment_task.updated_at,
      locktender.deployment_task.timeline, locktender.deployment_task.canvas, locktender.deployment_task.identity ->>
      'instance' AS instance, CASE WHEN (locktender.deployment_task.runner = 'template') THEN
      locktender.deployment_task.source ->> 'template' END AS template, locktender.now() AS read_at
FROM locktender.deployment_task
WHERE locktender.deployment_task.id = $2::UUID AND locktender.deployment_task.workspace = $3::VARCHAR;
