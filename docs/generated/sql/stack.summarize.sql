-- stack.summarize
-- $1 stack_id, $2 param_2
UPDATE locktender.stack SET latest_deployment_id=latest.id, latest_deployment_number=latest.number,
    latest_deployment_mode=latest.mode, latest_deployment_status=latest.status,
    latest_deployment_created_at=latest.created_at, latest_deployment_completed_at=latest.completed_at FROM (SELECT
    locktender.stack_deployment.id AS id, locktender.stack_deployment.number AS number,
    locktender.stack_deployment.mode AS mode, locktender.stack_deployment.status AS status,
    locktender.stack_deployment.created_at AS created_at, locktender.stack_deployment.completed_at AS completed_at
  FROM locktender.stack_deployment
  WHERE locktender.stack_deployment.stack_id = $1::UUID AND locktender.stack_deployment.mode != 'plan_unlocked' ORDER
      BY locktender.stack_deployment.created_at DESC, locktender.stack_deployment.id DESC
  LIMIT $2::INTEGER) AS latest WHERE locktender.stack.id = $1::UUID AND (locktender.stack.latest_deployment_id IS
      DISTINCT FROM latest.id OR locktender.stack.latest_deployment_number IS DISTINCT FROM latest.number OR
      locktender.stack.latest_deployment_mode IS DISTINCT FROM latest.mode OR
      locktender.stack.latest_deployment_status IS DISTINCT FROM latest.status OR
      locktender.stack.latest_deployment_created_at IS DISTINCT FROM latest.created_at OR
      locktender.stack.latest_deployment_completed_at IS DISTINCT FROM latest.completed_at) RETURNING
      locktender.stack.id;
