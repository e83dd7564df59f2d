-- stack.with_pending
-- $1 workspace, $2 projects, $3 limit
SELECT locktender.stack.id
FROM locktender.stack
WHERE locktender.stack.workspace = $1::VARCHAR AND locktender.stack.deleted_at IS NULL AND locktender.stack.id IN
    (SELECT locktender.stack_run.stack_id
  FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_run.status = 'pending' AND
      locktender.stack_deployment.status = 'pending' AND locktender.stack_deployment.id =
      locktender.stack_run.deployment_id) AND locktender.stack.project = any($2::TEXT[]) ORDER BY locktender.stack.id
LIMIT $3::BIGINT;
