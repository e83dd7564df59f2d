-- stack_run.told_graph
-- $1 param_1, $2 param_10, $3 workspace, $4 name
SELECT locktender.stack.id AS stack_id, locktender.stack.workspace, locktender.stack.uncertain_since,
    locktender.stack.state_lineage, locktender.stack.state_serial, (SELECT locktender.stack_state.created_at
  FROM locktender.stack_state
  WHERE locktender.stack_state.stack_id = locktender.stack.id ORDER BY locktender.stack_state.created_at DESC,
      locktender.stack_state.id DESC
  LIMIT $1::INTEGER) AS state_written_at, told.id AS run_id, told.mode AS run_mode, told.completed_at, told.binding,
      told.number, told.commit_sha
FROM locktender.stack LEFT OUTER JOIN LATERAL (SELECT locktender.stack_run.id AS id, locktender.stack_run.mode AS
    mode, locktender.stack_run.completed_at AS completed_at, locktender.stack_run.binding AS binding,
    locktender.stack_deployment.number AS number, locktender.stack_deployment.commit_sha AS commit_sha
  FROM locktender.stack_run JOIN locktender.stack_deployment ON locktender.stack_deployment.id =
      locktender.stack_run.deployment_id
  WHERE locktender.stack_run.stack_id = locktender.stack.id AND locktender.stack_run.analysed AND
      locktender.stack_run.completed_at IS NOT NULL AND locktender.stack_deployment.mode IN ('plan', 'destroy',
      'refresh') AND locktender.stack_run.status = 'success' AND locktender.stack_deployment.origin IN ('manual',
      'retry', 'scm', 'dependency') ORDER BY locktender.stack_run.completed_at DESC
  LIMIT $2::INTEGER) AS told ON true
WHERE locktender.stack.workspace = $3::VARCHAR AND locktender.stack.name = $4::VARCHAR AND locktender.stack.deleted_at
    IS NULL ORDER BY told.completed_at DESC;
