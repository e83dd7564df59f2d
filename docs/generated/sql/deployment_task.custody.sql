-- deployment_task.custody
-- $1 id, $2 epoch, $3 custodian
SELECT locktender.deployment_task.workspace
FROM locktender.deployment_task
WHERE locktender.deployment_task.id = $1::UUID AND locktender.deployment_task.lease_epoch = $2::BIGINT AND
    locktender.deployment_task.custodian = $3::VARCHAR AND locktender.deployment_task.status IN ('running',
    'applying');
