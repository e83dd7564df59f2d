-- deployment_task.withdraw_input
-- $1 patience, $2 limit
WITH due AS
  (SELECT locktender.deployment_task.id AS id
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.status IN ('blocked') AND locktender.deployment_task.resume_requested_at <=
      locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY
      locktender.deployment_task.resume_requested_at
  LIMIT $2::BIGINT FOR UPDATE SKIP LOCKED),
moved AS
  (UPDATE locktender.deployment_task SET revision=(locktender.deployment_task.revision + 1), custodian=NULL,
      resume_requested_at=NULL, resume_requested_by=NULL, updated_at=locktender.now() FROM due WHERE
      locktender.deployment_task.id = due.id AND locktender.deployment_task.status IN ('blocked') AND
      locktender.deployment_task.resume_requested_at <= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0))
      RETURNING locktender.deployment_task.id, locktender.deployment_task.workspace,
      locktender.deployment_task.project, locktender.deployment_task.phase, locktender.deployment_task.status,
      locktender.deployment_task.lease_epoch, locktender.deployment_task.revision,
      'no runner took the inputs in time; they are forgotten, please submit them again' AS message,
      CAST(jsonb_build_object('reason', 'never-started', 'verdict', 'blocked', 'message',
      'no runner took the inputs in time; they are forgotten, please submit them again') AS JSONB) AS payload,
      'reaper' AS actor, CAST('{}' AS JSONB) AS trace),
recorded AS
  (INSERT INTO locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload) SELECT
      moved.id AS id, moved.revision AS revision, 'input-withdrawn' AS anon_1, moved.status AS status,
      moved.lease_epoch AS lease_epoch, moved.actor AS actor, moved.message AS message, moved.payload AS payload
  FROM moved),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_2, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.deployments.',
      CAST(moved.id AS TEXT), '.input-withdrawn') AS concat_1, 'locktender.deployment_task.input-withdrawn' AS anon_3,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'phase', moved.phase, 'status', moved.status, 'epoch', moved.lease_epoch, 'revision',
      moved.revision, 'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1,
      moved.trace AS trace
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision
FROM moved;
