-- deployment_task.schedule_retention
-- $1 retention, $2 limit
WITH made AS
  (INSERT INTO locktender.cleanup_job (kind, workspace, subject_id, generation, hinted_at) SELECT 'retention' AS
      anon_6, locktender.deployment_task.workspace AS workspace, locktender.deployment_task.id AS id,
      locktender.deployment_task.revision AS revision, locktender.now() AS now_1
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.status IN ('completed', 'failed', 'cancelled') AND
      locktender.deployment_task.completed_at <= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND NOT
      (EXISTS (SELECT *
  FROM locktender.cleanup_job
  WHERE locktender.cleanup_job.kind = 'retention' AND locktender.cleanup_job.subject_id =
      locktender.deployment_task.id)) ORDER BY locktender.deployment_task.completed_at
  LIMIT $2::BIGINT ON CONFLICT (kind, subject_id) DO NOTHING RETURNING locktender.cleanup_job.id,
      locktender.cleanup_job.kind, locktender.cleanup_job.subject_id),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      concat('hint/', made.id) AS concat_1, abs(mod(hashtext(concat('hint/', made.id)), 16)) AS abs_1, CAST(NULL AS
      BIGINT) AS anon_1, CAST('false' AS BOOLEAN) AS anon_2, 'lt.cmd.cleanup.' || made.kind AS anon_3,
      'locktender.command.cleanup' AS anon_4, CAST(jsonb_build_object('id', made.id) AS JSONB) AS
      jsonb_build_object_1, CAST('{}' AS JSONB) AS anon_5
  FROM made)
SELECT made.id, made.kind, made.subject_id
FROM made;
