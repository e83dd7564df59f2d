-- stack_stage.acknowledge
-- $1 id
UPDATE locktender.stack_stage SET status='cancelling', completed_at=NULL, updated_at=locktender.now() WHERE
    locktender.stack_stage.id = $1::UUID AND locktender.stack_stage.status IN ('requested_cancellation') RETURNING
    locktender.stack_stage.id, locktender.stack_stage.deployment_id, locktender.stack_stage.ordinal,
    locktender.stack_stage.kind, locktender.stack_stage.status, locktender.stack_stage.run_id,
    locktender.stack_stage.completed_at, locktender.stack_stage.created_at, locktender.stack_stage.updated_at;
