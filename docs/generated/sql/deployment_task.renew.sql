-- deployment_task.renew
-- $1 ttl, $2 id, $3 epoch
WITH locked AS
  (SELECT input.id AS id, input.epoch AS epoch
  FROM unnest($2::UUID[], $3::BIGINT[]) AS input(id, epoch) JOIN locktender.deployment_task ON
      locktender.deployment_task.id = input.id ORDER BY locktender.deployment_task.id FOR UPDATE OF deployment_task),
moved AS
  (UPDATE locktender.deployment_task SET lease_expires_at=(locktender.now() + ($1::FLOAT * make_interval(secs=>1.0)))
      FROM locked WHERE locktender.deployment_task.id = locked.id AND locktender.deployment_task.status IN ('running',
      'applying') AND locktender.deployment_task.lease_epoch = locked.epoch RETURNING locktender.deployment_task.id,
      locktender.deployment_task.workspace, locktender.deployment_task.project, locktender.deployment_task.phase,
      locktender.deployment_task.status, locktender.deployment_task.lease_epoch, locktender.deployment_task.revision,
      locktender.deployment_task.cancel_requested_at)
SELECT moved.id, moved.workspace, moved.project, moved.phase, moved.status, moved.lease_epoch, moved.revision,
    moved.cancel_requested_at
FROM moved;
