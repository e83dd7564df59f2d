-- stack_stage.skip
-- $1 id
UPDATE locktender.stack_stage SET status='skipped', completed_at=locktender.now(), updated_at=locktender.now() WHERE
    locktender.stack_stage.id = $1::UUID AND locktender.stack_stage.status IN ('waiting', 'running') RETURNING
    locktender.stack_stage.id, locktender.stack_stage.deployment_id, locktender.stack_stage.ordinal,
    locktender.stack_stage.kind, locktender.stack_stage.status, locktender.stack_stage.run_id,
    locktender.stack_stage.completed_at, locktender.stack_stage.created_at, locktender.stack_stage.updated_at;
