-- verify.I05
-- $1 limit
SELECT CAST(locktender.stack.id AS TEXT) AS subject, concat('the lane is free since ', locktender.stack.updated_at) AS
    detail
FROM locktender.stack
WHERE locktender.stack.deleted_at IS NULL AND locktender.stack.lane_holder IS NULL AND (EXISTS (SELECT *
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.stack_id = locktender.stack.id AND locktender.stack_deployment.status = 'queued'
      AND locktender.stack_deployment.mode != 'plan_unlocked')) ORDER BY locktender.stack.id
LIMIT $1::BIGINT;
