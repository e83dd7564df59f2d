-- stack.projects_with_pending
-- $1 workspace
SELECT DISTINCT locktender.stack.project
FROM locktender.stack
WHERE locktender.stack.workspace = $1::VARCHAR AND locktender.stack.deleted_at IS NULL AND locktender.stack.id IN
    (SELECT locktender.stack_run.stack_id
  FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_run.status = 'pending' AND
      locktender.stack_deployment.status = 'pending' AND locktender.stack_deployment.id =
      locktender.stack_run.deployment_id);
