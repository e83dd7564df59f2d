-- verify.I06
-- $1 start, $2 limit
SELECT CAST(locktender.deployment_task.id AS TEXT) AS subject, concat(locktender.deployment_task.status, ', since ',
    locktender.deployment_task.resume_requested_at) AS detail
FROM locktender.deployment_task
WHERE locktender.deployment_task.resume_requested_at IS NOT NULL AND locktender.deployment_task.resume_requested_at <=
    locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.deployment_task.resume_requested_at
LIMIT $2::BIGINT;
