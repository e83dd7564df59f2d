-- cleanup_job.claim
-- $1 owner, $2 ttl, $3 attempts_1, $4 id
WITH locked AS
  (SELECT input.id AS id
  FROM unnest($4::UUID[]) AS input(id) JOIN locktender.cleanup_job ON locktender.cleanup_job.id = input.id ORDER BY
      locktender.cleanup_job.id FOR UPDATE OF cleanup_job),
moved AS
  (UPDATE locktender.cleanup_job SET status='running', lease_owner=$1::VARCHAR,
      lease_epoch=(locktender.cleanup_job.lease_epoch + 1), lease_claimed_at=locktender.now(),
      lease_expires_at=(locktender.now() + ($2::FLOAT * make_interval(secs=>1.0))),
      attempts=(locktender.cleanup_job.attempts + $3::INTEGER), started_at=coalesce(locktender.cleanup_job.started_at,
      locktender.now()), completed_at=NULL, updated_at=locktender.now() FROM locked WHERE locktender.cleanup_job.id =
      locked.id AND locktender.cleanup_job.status IN ('pending') AND locktender.cleanup_job.next_attempt_at <=
      locktender.now() RETURNING locktender.cleanup_job.id, locktender.cleanup_job.workspace,
      locktender.cleanup_job.status, locktender.cleanup_job.lease_epoch, locktender.cleanup_job.revision,
      locktender.cleanup_job.kind, locktender.cleanup_job.subject_id, locktender.cleanup_job.generation,
      locktender.cleanup_job.attempts)
SELECT moved.id, moved.workspace, moved.status, moved.lease_epoch, moved.revision, moved.kind, moved.subject_id,
    moved.generation, moved.attempts
FROM moved;
