-- deployment_task.hint
-- $1 patience, $2 limit
WITH due AS
  (SELECT locktender.deployment_task.id AS id
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.status IN ('queued') AND locktender.deployment_task.hinted_at <= locktender.now() -
      ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.deployment_task.hinted_at
  LIMIT $2::BIGINT FOR UPDATE SKIP LOCKED),
moved AS
  (UPDATE locktender.deployment_task SET hinted_at=locktender.now() FROM due WHERE locktender.deployment_task.id =
      due.id AND locktender.deployment_task.status IN ('queued') AND locktender.deployment_task.hinted_at <=
      locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) RETURNING locktender.deployment_task.id,
      locktender.deployment_task.workspace, locktender.deployment_task.project, locktender.deployment_task.phase,
      locktender.deployment_task.status, locktender.deployment_task.lease_epoch, locktender.deployment_task.revision,
      locktender.deployment_task.runner),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      concat('hint/', moved.id) AS concat_1, abs(mod(hashtext(concat('hint/', moved.id)), 16)) AS abs_1, CAST(NULL AS
      BIGINT) AS anon_1, CAST('false' AS BOOLEAN) AS anon_2, 'lt.cmd.deployment.' || moved.runner AS anon_3,
      'locktender.command.hint' AS anon_4, CAST(jsonb_build_object('id', moved.id) AS JSONB) AS jsonb_build_object_1,
      CAST('{}' AS JSONB) AS anon_5
  FROM moved)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision,
    moved.runner
FROM moved;
