-- cleanup_job.renew
-- $1 ttl, $2 id, $3 epoch
WITH locked AS
  (SELECT locktender.cleanup_job.id AS id
  FROM locktender.cleanup_job
  WHERE locktender.cleanup_job.id = any($2::UUID[]) ORDER BY locktender.cleanup_job.id FOR UPDATE),
moved AS
  (UPDATE locktender.cleanup_job SET lease_expires_at=(locktender.now() + ($1::FLOAT * make_interval(secs=>1.0))),
      updated_at=locktender.now() FROM unnest($2::UUID[], $3::BIGINT[]) AS input(id, epoch), locked WHERE
      locktender.cleanup_job.id = input.id AND locktender.cleanup_job.id = locked.id AND locktender.cleanup_job.status
      IN ('running') AND locktender.cleanup_job.lease_epoch = input.epoch RETURNING locktender.cleanup_job.id,
      locktender.cleanup_job.workspace, locktender.cleanup_job.status, locktender.cleanup_job.lease_epoch,
      locktender.cleanup_job.revision)
SELECT moved.id, moved.workspace, moved.status, moved.lease_epoch, moved.revision
FROM moved;
