-- deployment_task.cancel_interrupted
-- $1 limit
WITH due AS
  (SELECT locktender.deployment_task.id AS id
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.status IN ('running', 'applying') AND
      locktender.deployment_task.cancel_requested_at IS NOT NULL AND locktender.deployment_task.lease_expires_at <=
      locktender.now() ORDER BY locktender.deployment_task.lease_expires_at
  LIMIT $1::BIGINT FOR UPDATE SKIP LOCKED),
moved AS
  (UPDATE locktender.deployment_task SET status='cancelled', revision=(locktender.deployment_task.revision + 1),
      lease_owner=NULL, lease_epoch=(locktender.deployment_task.lease_epoch + 1), lease_expires_at=NULL,
      completed_at=locktender.now(), updated_at=locktender.now() FROM due WHERE locktender.deployment_task.id = due.id
      AND locktender.deployment_task.status IN ('running', 'applying') AND
      locktender.deployment_task.cancel_requested_at IS NOT NULL AND locktender.deployment_task.lease_expires_at <=
      locktender.now() RETURNING locktender.deployment_task.id, locktender.deployment_task.workspace,
      locktender.deployment_task.project, locktender.deployment_task.phase, locktender.deployment_task.status,
      locktender.deployment_task.lease_epoch, locktender.deployment_task.revision,
      'the runner was lost after the cancel was asked for; nothing more is applied' AS message,
      CAST(jsonb_build_object('reason', 'interrupted-with-cancel', 'verdict', 'cancelled', 'message',
      'the runner was lost after the cancel was asked for; nothing more is applied') AS JSONB) AS payload, 'reaper' AS
      actor, CAST('{}' AS JSONB) AS trace),
recorded AS
  (INSERT INTO locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload) SELECT
      moved.id AS id, moved.revision AS revision, 'engine-resolved' AS anon_1, moved.status AS status,
      moved.lease_epoch AS lease_epoch, moved.actor AS actor, moved.message AS message, moved.payload AS payload
  FROM moved),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_2, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.deployments.',
      CAST(moved.id AS TEXT), '.engine-resolved') AS concat_1, 'locktender.deployment_task.engine-resolved' AS anon_3,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'phase', moved.phase, 'status', moved.status, 'epoch', moved.lease_epoch, 'revision',
      moved.revision, 'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1,
      moved.trace AS trace
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision
FROM moved;
