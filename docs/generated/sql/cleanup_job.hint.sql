-- cleanup_job.hint
-- $1 patience, $2 limit
WITH due AS
  (SELECT locktender.cleanup_job.id AS id
  FROM locktender.cleanup_job
  WHERE locktender.cleanup_job.status IN ('pending') AND locktender.cleanup_job.next_attempt_at <= locktender.now()
      AND coalesce(locktender.cleanup_job.hinted_at, locktender.cleanup_job.created_at) <= locktender.now() -
      ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.cleanup_job.next_attempt_at
  LIMIT $2::BIGINT FOR UPDATE SKIP LOCKED),
moved AS
  (UPDATE locktender.cleanup_job SET hinted_at=locktender.now() FROM due WHERE locktender.cleanup_job.id = due.id AND
      locktender.cleanup_job.status IN ('pending') AND locktender.cleanup_job.next_attempt_at <= locktender.now() AND
      coalesce(locktender.cleanup_job.hinted_at, locktender.cleanup_job.created_at) <= locktender.now() - ($1::FLOAT *
      make_interval(secs=>1.0)) RETURNING locktender.cleanup_job.id, locktender.cleanup_job.workspace,
      locktender.cleanup_job.status, locktender.cleanup_job.lease_epoch, locktender.cleanup_job.revision,
      locktender.cleanup_job.kind),
told AS
  (INSERT INTO locktender.outbox (aggregate, shard, revision, tombstone, subject, type, data, headers) SELECT
      concat('hint/', moved.id) AS concat_1, abs(mod(hashtext(concat('hint/', moved.id)), 16)) AS abs_1, CAST(NULL AS
      BIGINT) AS anon_1, CAST('false' AS BOOLEAN) AS anon_2, 'lt.cmd.cleanup.' || moved.kind AS anon_3,
      'locktender.command.hint' AS anon_4, CAST(jsonb_build_object('id', moved.id) AS JSONB) AS jsonb_build_object_1,
      CAST('{}' AS JSONB) AS anon_5
  FROM moved)
SELECT moved.id, moved.workspace, moved.status, moved.lease_epoch, moved.revision, moved.kind
FROM moved;
