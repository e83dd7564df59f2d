-- stack.release
-- $1 stack_id
UPDATE locktender.stack SET lane_holder=NULL, lane_taken_at=NULL WHERE locktender.stack.id = $1::UUID AND
    locktender.stack.lane_holder IS NOT NULL AND NOT (EXISTS (SELECT *
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.id = locktender.stack.lane_holder AND locktender.stack_deployment.status IN
      ('queued', 'pending', 'planning', 'waiting', 'applying', 'requested_cancellation', 'cancelling'))) RETURNING
      locktender.stack.id;
