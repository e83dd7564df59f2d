-- deployment_task.fail
-- $1 revision_1, $2 id, $3 epoch, $4 timeline, $5 failure, $6 message, $7 payload, $8 actor, $9 trace
WITH locked AS
  (SELECT locktender.deployment_task.id AS id
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.id = any($2::UUID[]) ORDER BY locktender.deployment_task.id FOR UPDATE),
moved AS
  (UPDATE locktender.deployment_task SET status='failed', timeline=input.timeline, failure=input.failure,
      revision=(locktender.deployment_task.revision + $1::BIGINT), lease_owner=NULL, lease_expires_at=NULL,
      completed_at=locktender.now(), updated_at=locktender.now() FROM unnest($2::UUID[], $3::BIGINT[], $4::JSONB[],
      $5::JSONB[], $6::TEXT[], $7::JSONB[], $8::TEXT[], $9::JSONB[]) AS input(id, epoch, timeline, failure, message,
      payload, actor, trace), locked WHERE locktender.deployment_task.id = input.id AND locktender.deployment_task.id
      = locked.id AND locktender.deployment_task.status IN ('running', 'applying') AND
      locktender.deployment_task.lease_epoch = input.epoch AND locktender.deployment_task.cancel_requested_at IS NULL
      RETURNING locktender.deployment_task.id, locktender.deployment_task.workspace,
      locktender.deployment_task.project, locktender.deployment_task.phase, locktender.deployment_task.status,
      locktender.deployment_task.lease_epoch, locktender.deployment_task.revision, input.message, input.payload,
      input.actor, input.trace),
recorded AS
  (INSERT INTO locktender.deployment_event (task_id, revision, kind, status, epoch, actor, message, payload) SELECT
      moved.id AS id, moved.revision AS revision, 'failed' AS anon_1, moved.status AS status, moved.lease_epoch AS
      lease_epoch, moved.actor AS actor, moved.message AS message, moved.payload AS payload
  FROM moved),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('false' AS BOOLEAN) AS anon_2, concat('lt', '.', 'evt', '.', moved.workspace, '.', 'deployments',
      '.', CAST(moved.id AS TEXT), '.', 'failed') AS concat_1, 'locktender.deployment_task.failed' AS anon_3,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'phase', moved.phase, 'status', moved.status, 'epoch', moved.lease_epoch, 'revision',
      moved.revision, 'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1,
      moved.trace AS trace
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision,
    moved.message, moved.payload, moved.actor, moved.trace
FROM moved;
