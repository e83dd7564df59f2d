-- deployment_plan.read
-- $1 id, $2 workspace
SELECT CAST(locktender.deployment_plan.plan AS TEXT) AS plan
FROM locktender.deployment_plan JOIN locktender.deployment_task ON locktender.deployment_task.id =
    locktender.deployment_plan.task_id
WHERE locktender.deployment_task.id = $1::UUID AND locktender.deployment_task.workspace = $2::VARCHAR;
