-- verify.I06
-- $1 sweep, $2 limit
SELECT CAST(locktender.cleanup_job.id AS TEXT) AS subject, concat(locktender.cleanup_job.status, ', since ',
    locktender.cleanup_job.lease_expires_at) AS detail
FROM locktender.cleanup_job
WHERE locktender.cleanup_job.status IN ('running') AND locktender.cleanup_job.lease_expires_at <= locktender.now() -
    ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.cleanup_job.lease_expires_at
LIMIT $2::BIGINT;
