-- stack_activity.act
-- $1 deployment_id, $2 kind, $3 actor, $4 stage_id, $5 details
INSERT INTO locktender.stack_activity (deployment_id, kind, actor, stage_id, details) VALUES ($1::UUID, $2::VARCHAR,
    $3::VARCHAR, $4::UUID, $5::JSONB) RETURNING locktender.stack_activity.id;
