-- cleanup_job.state
-- $1 id
SELECT locktender.cleanup_job.id, locktender.cleanup_job.status, locktender.cleanup_job.lease_epoch
FROM locktender.cleanup_job JOIN unnest($1::UUID[]) AS asked(id) ON locktender.cleanup_job.id = asked.id;
