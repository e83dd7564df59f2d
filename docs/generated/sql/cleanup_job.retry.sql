-- cleanup_job.retry
-- $1 make_interval_1, $2 make_interval_2, $3 make_interval_3, $4 make_interval_4, $5 make_interval_5, $6
-- make_interval_6, $7 delay, $8 id, $9 epoch, $10 last_error
WITH locked AS
  (SELECT input.id AS id, input.epoch AS epoch, input.last_error AS last_error
  FROM unnest($8::UUID[], $9::BIGINT[], $10::TEXT[]) AS input(id, epoch, last_error) JOIN locktender.cleanup_job ON
      locktender.cleanup_job.id = input.id ORDER BY locktender.cleanup_job.id FOR UPDATE OF cleanup_job),
moved AS
  (UPDATE locktender.cleanup_job SET status='pending', lease_owner=NULL, lease_expires_at=NULL,
      next_attempt_at=(locktender.now() + make_interval($1::INTEGER, $2::INTEGER, $3::INTEGER, $4::INTEGER,
      $5::INTEGER, $6::INTEGER, $7::FLOAT)), last_error=locked.last_error, completed_at=NULL,
      updated_at=locktender.now() FROM locked WHERE locktender.cleanup_job.id = locked.id AND
      locktender.cleanup_job.status IN ('running') AND locktender.cleanup_job.lease_epoch = locked.epoch RETURNING
      locktender.cleanup_job.id, locktender.cleanup_job.workspace, locktender.cleanup_job.status,
      locktender.cleanup_job.lease_epoch, locktender.cleanup_job.revision)
SELECT moved.id, moved.workspace, moved.status, moved.lease_epoch, moved.revision
FROM moved;
