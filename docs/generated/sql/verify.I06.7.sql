-- verify.I06
-- $1 start, $2 limit
SELECT CAST(locktender.deployment_task.id AS TEXT) AS subject, concat(locktender.deployment_task.status, ', since ',
    locktender.deployment_task.created_at) AS detail
FROM locktender.deployment_task
WHERE locktender.deployment_task.status = 'queued' AND locktender.deployment_task.created_at <= locktender.now() -
    ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.deployment_task.created_at
LIMIT $2::BIGINT;
