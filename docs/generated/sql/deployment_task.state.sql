-- deployment_task.state
-- $1 id
SELECT locktender.deployment_task.id, locktender.deployment_task.status, locktender.deployment_task.lease_epoch
FROM locktender.deployment_task JOIN unnest($1::UUID[]) AS asked(id) ON locktender.deployment_task.id = asked.id;
