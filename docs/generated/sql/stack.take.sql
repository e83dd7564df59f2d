-- stack.take
-- $1 stack_id, $2 param_3
UPDATE locktender.stack SET lane_holder=(SELECT locktender.stack_deployment.id
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.stack_id = $1::UUID AND locktender.stack_deployment.status = 'queued' AND
      locktender.stack_deployment.mode != 'plan_unlocked' ORDER BY locktender.stack_deployment.prioritized_at ASC
      NULLS LAST, locktender.stack_deployment.created_at, locktender.stack_deployment.id
  LIMIT $2::INTEGER), lane_taken_at=locktender.now() WHERE locktender.stack.id = $1::UUID AND
      locktender.stack.lane_holder IS NULL AND (EXISTS (SELECT *
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.id = (SELECT locktender.stack_deployment.id
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.stack_id = $1::UUID AND locktender.stack_deployment.status = 'queued' AND
      locktender.stack_deployment.mode != 'plan_unlocked' ORDER BY locktender.stack_deployment.prioritized_at ASC
      NULLS LAST, locktender.stack_deployment.created_at, locktender.stack_deployment.id
  LIMIT $2::INTEGER))) RETURNING locktender.stack.lane_holder;
