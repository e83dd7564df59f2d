-- deployment_task.remove
-- $1 id, $2 epoch, $3 revision_1
WITH held AS
  (SELECT locktender.cleanup_job.id AS id, locktender.cleanup_job.subject_id AS subject_id,
      locktender.cleanup_job.generation AS generation
  FROM locktender.cleanup_job
  WHERE locktender.cleanup_job.id = any($1::UUID[]) AND (EXISTS (SELECT *
  FROM unnest($1::UUID[], $2::BIGINT[]) AS lease(id, epoch)
  WHERE locktender.cleanup_job.status IN ('running') AND locktender.cleanup_job.lease_epoch = lease.epoch AND
      locktender.cleanup_job.id = lease.id)) ORDER BY locktender.cleanup_job.id FOR UPDATE),
gone AS
  (DELETE FROM locktender.deployment_task USING held WHERE locktender.deployment_task.id = held.subject_id AND
      locktender.deployment_task.revision = held.generation AND locktender.deployment_task.status IN ('completed',
      'failed', 'cancelled') RETURNING locktender.deployment_task.id, locktender.deployment_task.workspace,
      locktender.deployment_task.project, locktender.deployment_task.phase, locktender.deployment_task.status,
      locktender.deployment_task.lease_epoch, locktender.deployment_task.revision + $3::BIGINT AS revision),
moved AS
  (SELECT gone.id AS id, gone.workspace AS workspace, gone.project AS project, gone.phase AS phase, gone.status AS
      status, gone.lease_epoch AS lease_epoch, gone.revision AS revision, CAST('{}' AS JSONB) AS payload, CAST('{}' AS
      JSONB) AS trace
  FROM gone),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      CAST(moved.id AS TEXT) AS id, abs(mod(hashtext(CAST(moved.id AS TEXT)), 16)) AS abs_1, moved.revision AS
      revision, CAST('true' AS BOOLEAN) AS anon_1, concat('lt.evt.', CAST(moved.workspace AS TEXT), '.deployments.',
      CAST(moved.id AS TEXT), '.removed') AS concat_1, 'locktender.deployment_task.removed' AS anon_2,
      CAST(jsonb_strip_nulls(jsonb_build_object('id', moved.id, 'workspace', moved.workspace, 'project',
      moved.project, 'phase', moved.phase, 'status', moved.status, 'epoch', moved.lease_epoch, 'revision',
      moved.revision, 'reason', moved.payload ->> 'reason', 'at', locktender.now())) AS JSONB) AS jsonb_strip_nulls_1,
      moved.trace AS trace
  FROM moved),
finished AS
  (UPDATE locktender.cleanup_job SET status='done', lease_owner=NULL, lease_expires_at=NULL,
      outcome=jsonb_build_object('outcome', CASE WHEN (EXISTS (SELECT *
  FROM gone
  WHERE gone.id = locktender.cleanup_job.subject_id)) THEN 'removed' WHEN (EXISTS (SELECT *
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.id = locktender.cleanup_job.subject_id)) THEN 'not-proven' ELSE 'already-gone'
      END), completed_at=locktender.now(), updated_at=locktender.now() FROM held WHERE locktender.cleanup_job.id =
      held.id RETURNING locktender.cleanup_job.id, CAST(locktender.cleanup_job.outcome ->> 'outcome' AS TEXT) AS
      outcome)
SELECT finished.id, finished.outcome
FROM finished;
