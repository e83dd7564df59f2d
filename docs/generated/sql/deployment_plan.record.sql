-- deployment_plan.record
-- $1 plan, $2 id, $3 epoch
WITH held AS
  (SELECT locktender.deployment_task.id AS id, locktender.deployment_task.status AS status,
      locktender.deployment_task.lease_epoch AS lease_epoch, locktender.deployment_task.revision AS revision,
      locktender.deployment_task.cancel_requested_at AS cancel_requested_at
  FROM locktender.deployment_task
  WHERE locktender.deployment_task.id = $2::UUID AND locktender.deployment_task.status IN ('running', 'applying') AND
      locktender.deployment_task.lease_epoch = $3::BIGINT FOR SHARE),
written AS
  (INSERT INTO locktender.deployment_plan (task_id, epoch, plan) SELECT held.id AS id, held.lease_epoch AS
      lease_epoch, CAST($1::VARCHAR AS JSONB) AS anon_1
  FROM held ON CONFLICT (task_id) DO UPDATE SET epoch = excluded.epoch, plan = excluded.plan, recorded_at =
      locktender.now() RETURNING locktender.deployment_plan.task_id)
SELECT held.id, held.status, held.lease_epoch, held.revision, held.cancel_requested_at
FROM held;
