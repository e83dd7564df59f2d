-- stack_stage.add
-- $1 id, $2 deployment_id, $3 ordinal, $4 kind, $5 run_id
INSERT INTO locktender.stack_stage (id, deployment_id, ordinal, kind, run_id) VALUES ($1::UUID, $2::UUID, $3::INTEGER,
    $4::VARCHAR, $5::UUID) RETURNING locktender.stack_stage.id, locktender.stack_stage.deployment_id,
    locktender.stack_stage.ordinal, locktender.stack_stage.kind, locktender.stack_stage.status,
    locktender.stack_stage.run_id, locktender.stack_stage.completed_at, locktender.stack_stage.created_at,
    locktender.stack_stage.updated_at;
