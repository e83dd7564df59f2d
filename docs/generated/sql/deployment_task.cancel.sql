-- deployment_task.cancel
-- $1 id, $2 cancel_requested_by, $3 message, $4 payload, $5 actor, $6 trace
WITH locked AS
  (SELECT input.id AS id, input.cancel_requested_by AS cancel_requested_by, input.message AS message, input.payload AS
      payload, input.actor AS actor, input.trace AS trace
  FROM unnest($1::UUID[], $2::TEXT[], $3::TEXT[], $4::JSONB[], $5::TEXT[], $6::JSONB[]) AS input(id,
      cancel_requested_by, message, payload, actor, trace) JOIN locktender.deployment_task ON
      locktender.deployment_task.id = input.id ORDER BY locktender.deployment_task.id FOR UPDATE OF deployment_task),
moved AS
  (UPDATE locktender.deployment_task SET status='cancelled', revision=(locktender.deployment_task.revision + 1),
      cancel_requested_at=locktender.now(), cancel_requested_by=locked.cancel_requested_by, resume_requested_at=NULL,
      resume_requested_by=NULL, completed_at=locktender.now(), updated_at=locktender.now() FROM locked WHERE
      locktender.deployment_task.id = locked.id AND locktender.deployment_task.status IN ('queued', 'blocked')
      RETURNING locktender.deployment_task.id, locktender.deployment_task.workspace,
      locktender.deployment_task.project, locktender.deployment_task.phase, locktender.deployment_task.status,
      locktender.deployment_task.lease_epoch, locktender.deployment_task.revision, locked.message, locked.payload,
      locked.actor, locked.trace),
recorded AS
  (INSERT INTO locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload) SELECT
      moved.id AS id, moved.revision AS revision, 'cancelled' AS anon_1, moved.status AS status, moved.lease_epoch AS
      lease_epoch, moved.actor AS actor, moved.message AS message, moved.payload AS payload
  FROM moved),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_2, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.deployments.',
      CAST(moved.id AS TEXT), '.cancelled') AS concat_1, 'locktender.deployment_task.cancelled' AS anon_3,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'phase', moved.phase, 'status', moved.status, 'epoch', moved.lease_epoch, 'revision',
      moved.revision, 'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1,
      moved.trace AS trace
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision
FROM moved;
