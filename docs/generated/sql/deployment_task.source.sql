-- deployment_task.source
-- $1 id, $2 workspace
SELECT locktender.deployment_task.id, locktender.deployment_task.status, locktender.deployment_task.project,
    locktender.deployment_task.namespace, locktender.deployment_task.server, locktender.deployment_task.display_name,
    locktender.deployment_task.runner, locktender.deployment_task.source, locktender.deployment_task.revision
FROM locktender.deployment_task
WHERE locktender.deployment_task.id = $1::UUID AND locktender.deployment_task.workspace = $2::VARCHAR;
