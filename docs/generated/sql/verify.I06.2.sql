-- verify.I06
-- $1 sweep, $2 limit
SELECT CAST(locktender.stack_run.id AS TEXT) AS subject, concat(locktender.stack_run.status, ', since ',
    locktender.stack_run.assigned_expires_at) AS detail
FROM locktender.stack_run
WHERE locktender.stack_run.status = 'assigned' AND locktender.stack_run.assigned_expires_at <= locktender.now() -
    ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.stack_run.assigned_expires_at
LIMIT $2::BIGINT;
