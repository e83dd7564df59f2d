-- cleanup_job.renew
-- $1 ttl, $2 id, $3 epoch
WITH locked AS
  (SELECT input.id AS id, input.epoch AS epoch
  FROM unnest($2::UUID[], $3::BIGINT[]) AS input(id, epoch) JOIN locktender.cleanup_job ON locktender.cleanup_job.id =
      input.id ORDER BY locktender.cleanup_job.id FOR UPDATE OF cleanup_job),
moved AS
  (UPDATE locktender.cleanup_job SET lease_expires_at=(locktender.now() + ($1::FLOAT * make_interval(secs=>1.0))) FROM
      locked WHERE locktender.cleanup_job.id = locked.id AND locktender.cleanup_job.status IN ('running') AND
      locktender.cleanup_job.lease_epoch = locked.epoch RETURNING locktender.cleanup_job.id,
      locktender.cleanup_job.workspace, locktender.cleanup_job.status, locktender.cleanup_job.lease_epoch,
      locktender.cleanup_job.revision)
SELECT moved.id, moved.workspace, moved.status, moved.lease_epoch, moved.revision
FROM moved;
