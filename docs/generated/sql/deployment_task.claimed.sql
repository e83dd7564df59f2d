-- deployment_task.claimed
-- $1 id, $2 owner, $3 since
SELECT locktender.deployment_task.id, locktender.deployment_task.workspace, locktender.deployment_task.project,
    locktender.deployment_task.lease_epoch, locktender.deployment_task.namespace, locktender.deployment_task.runner,
    locktender.deployment_task.source, locktender.deployment_task.timeline, locktender.deployment_task.custodian,
    locktender.deployment_task.identity, locktender.deployment_task.asked
FROM locktender.deployment_task
WHERE locktender.deployment_task.id = any($1::UUID[]) AND locktender.deployment_task.status = 'running' AND
    locktender.deployment_task.lease_owner = $2::VARCHAR AND locktender.deployment_task.lease_claimed_at >=
    locktender.now() - ($3::FLOAT * make_interval(secs=>1.0));
