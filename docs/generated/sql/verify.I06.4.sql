-- verify.I06
-- $1 sweep, $2 limit
SELECT CAST(locktender.deployment_task.id AS TEXT) AS subject, concat(locktender.deployment_task.status, ', since ',
    locktender.deployment_task.lease_expires_at) AS detail
FROM locktender.deployment_task
WHERE locktender.deployment_task.status IN ('running', 'applying') AND locktender.deployment_task.lease_expires_at <=
    locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) ORDER BY locktender.deployment_task.lease_expires_at
LIMIT $2::BIGINT;
