-- deployment_task.successor
-- $1 workspace, $2 id
SELECT locktender.deployment_task.id
FROM locktender.deployment_task
WHERE locktender.deployment_task.workspace = $1::VARCHAR AND locktender.deployment_task.predecessor_id = $2::UUID AND
    locktender.deployment_task.status IN ('queued', 'running', 'blocked', 'applying');
