-- cleanup_job.forget
-- $1 retention, $2 limit
WITH ended AS
  (SELECT locktender.cleanup_job.id AS id
  FROM locktender.cleanup_job
  WHERE locktender.cleanup_job.status = 'done' AND locktender.cleanup_job.completed_at <= locktender.now() -
      ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.cleanup_job.completed_at
  LIMIT $2::BIGINT FOR UPDATE SKIP LOCKED)
DELETE FROM locktender.cleanup_job WHERE locktender.cleanup_job.id = any(array((SELECT ended.id
  FROM ended))) RETURNING locktender.cleanup_job.id;
