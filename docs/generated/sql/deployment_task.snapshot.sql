-- deployment_task.snapshot
-- $1 param_2, $2 param_12, $3 id, $4 workspace
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
      locktender.deployment_task.resume_requested_by, locktender.deployment_task.timeline, (SELECT
      jsonb_agg(jsonb_build_object('revision', latest.revision, 'kind', latest.kind, 'status', latest.status, 'epoch',
      latest.epoch, 'actor', latest.actor, 'message', latest.message, 'payload', latest.payload, 'createdAt',
      latest.created_at) ORDER BY latest.revision) AS jsonb_agg_1
  FROM (SELECT locktender.deployment_event.revision AS revision, locktender.deployment_event.kind AS kind,
      locktender.deployment_event.status AS status, locktender.deployment_event.epoch AS epoch,
      locktender.deployment_event.actor AS actor, locktender.deployment_event.message AS message,
      locktender.deployment_event.payload AS payload, locktender.deployment_event.created_at AS created_at
  FROM locktender.deployment_event
  WHERE locktender.deployment_event.task_id = locktender.deployment_task.id ORDER BY
      locktender.deployment_event.revision DESC
  LIMIT $2::INTEGER) AS latest) AS events
FROM locktender.deployment_task
WHERE locktender.deployment_task.id = $3::UUID AND locktender.deployment_task.workspace = $4::VARCHAR;
