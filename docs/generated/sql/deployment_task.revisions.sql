-- deployment_task.revisions
-- $1 id
SELECT locktender.deployment_task.id, locktender.deployment_task.revision
FROM locktender.deployment_task
WHERE locktender.deployment_task.id = any($1::UUID[]);
