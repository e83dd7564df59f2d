-- stack_run.context
-- $1 id
SELECT locktender.stack.name AS stack_name, locktender.stack.project, locktender.stack.engine,
    locktender.stack.git_token, locktender.stack_deployment.number, locktender.stack_deployment.source,
    locktender.stack_deployment.commit_sha, locktender.stack_deployment.raw_script, plan_run.binding AS planned
FROM locktender.stack_run JOIN locktender.stack ON locktender.stack.id = locktender.stack_run.stack_id JOIN
    locktender.stack_deployment ON locktender.stack_deployment.id = locktender.stack_run.deployment_id LEFT OUTER JOIN
    locktender.stack_run AS plan_run ON plan_run.id = locktender.stack_run.plan_run_id
WHERE locktender.stack_run.id = $1::UUID;
