-- verify.I03
-- $1 window, $2 limit
SELECT CAST(locktender.deployment_task.id AS TEXT) AS subject, concat('epoch ', locktender.deployment_plan.epoch) AS
    detail
FROM locktender.deployment_task JOIN locktender.deployment_plan ON locktender.deployment_plan.task_id =
    locktender.deployment_task.id
WHERE locktender.deployment_task.updated_at >= locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) AND
    locktender.deployment_plan.epoch > locktender.deployment_task.lease_epoch ORDER BY locktender.deployment_task.id
LIMIT $2::BIGINT;
