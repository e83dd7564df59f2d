-- verify.I05
-- $1 limit
SELECT CAST(locktender.stack.id AS TEXT) AS subject, concat('held by ', locktender.stack.lane_holder) AS detail
FROM locktender.stack
WHERE locktender.stack.deleted_at IS NULL AND locktender.stack.lane_holder IS NOT NULL AND NOT (EXISTS (SELECT *
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.id = locktender.stack.lane_holder AND locktender.stack_deployment.stack_id =
      locktender.stack.id AND locktender.stack_deployment.status IN ('queued', 'pending', 'planning', 'waiting',
      'applying', 'requested_cancellation', 'cancelling') AND locktender.stack_deployment.mode != 'plan_unlocked'))
      ORDER BY locktender.stack.id
LIMIT $1::BIGINT;
