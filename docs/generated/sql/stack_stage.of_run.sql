-- stack_stage.of_run
-- $1 id
SELECT locktender.stack_stage.id, locktender.stack_stage.deployment_id, locktender.stack_stage.ordinal,
    locktender.stack_stage.kind, locktender.stack_stage.status, locktender.stack_stage.run_id,
    locktender.stack_stage.completed_at, locktender.stack_stage.created_at, locktender.stack_stage.updated_at
FROM locktender.stack_stage
WHERE locktender.stack_stage.run_id = $1::UUID;
