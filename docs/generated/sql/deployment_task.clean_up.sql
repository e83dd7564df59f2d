-- deployment_task.clean_up
-- $1 id, $2 epoch, $3 timeline, $4 message, $5 payload, $6 actor, $7 trace
WITH locked AS
  (SELECT input.id AS id, input.epoch AS epoch, input.timeline AS timeline, input.message AS message, input.payload AS
      payload, input.actor AS actor, input.trace AS trace
  FROM unnest($1::UUID[], $2::BIGINT[], $3::JSONB[], $4::TEXT[], $5::JSONB[], $6::TEXT[], $7::JSONB[]) AS input(id,
      epoch, timeline, message, payload, actor, trace) JOIN locktender.deployment_task ON
      locktender.deployment_task.id = input.id ORDER BY locktender.deployment_task.id FOR UPDATE OF deployment_task),
moved AS
  (UPDATE locktender.deployment_task SET timeline=locked.timeline, revision=(locktender.deployment_task.revision + 1),
      updated_at=locktender.now() FROM locked WHERE locktender.deployment_task.id = locked.id AND
      locktender.deployment_task.status IN ('applying') AND locktender.deployment_task.lease_epoch = locked.epoch AND
      locktender.deployment_task.cancel_requested_at IS NULL RETURNING locktender.deployment_task.id,
      locktender.deployment_task.workspace, locktender.deployment_task.project, locktender.deployment_task.phase,
      locktender.deployment_task.status, locktender.deployment_task.lease_epoch, locktender.deployment_task.revision,
      locktender.deployment_task.cancel_requested_at, locked.message, locked.payload, locked.actor, locked.trace),
recorded AS
  (INSERT INTO locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload) SELECT
      moved.id AS id, moved.revision AS revision, 'cleanup-started' AS anon_1, moved.status AS status,
      moved.lease_epoch AS lease_epoch, moved.actor AS actor, moved.message AS message, moved.payload AS payload
  FROM moved),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_2, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.deployments.',
      CAST(moved.id AS TEXT), '.cleanup-started') AS concat_1, 'locktender.deployment_task.cleanup-started' AS anon_3,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'phase', moved.phase, 'status', moved.status, 'epoch', moved.lease_epoch, 'revision',
      moved.revision, 'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1,
      moved.trace AS trace
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision,
    moved.cancel_requested_at
FROM moved;
