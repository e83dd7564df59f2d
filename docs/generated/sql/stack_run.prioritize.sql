-- stack_run.prioritize
-- $1 id
UPDATE locktender.stack_run SET prioritized_at=(SELECT locktender.stack_deployment.prioritized_at
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.id = $1::UUID) WHERE locktender.stack_run.deployment_id = $1::UUID AND
      locktender.stack_run.status IN ('queued', 'pending', 'assigned') RETURNING locktender.stack_run.id;
