-- stack_runner_group.add
-- $1 id, $2 workspace, $3 name, $4 labels, $5 token_hash, $6 capacity, $7 created_by
INSERT INTO locktender.stack_runner_group (id, workspace, name, labels, token_hash, capacity, created_by) VALUES
    ($1::UUID, $2::VARCHAR, $3::VARCHAR, $4::JSONB, $5::BYTEA, $6::INTEGER, $7::VARCHAR) RETURNING
    locktender.stack_runner_group.id, locktender.stack_runner_group.workspace, locktender.stack_runner_group.name,
    locktender.stack_runner_group.labels, locktender.stack_runner_group.capacity,
    locktender.stack_runner_group.last_dispatch_error, locktender.stack_runner_group.created_by,
    locktender.stack_runner_group.created_at, locktender.stack_runner_group.updated_at, CASE WHEN
    (locktender.stack_runner_group.old_token_until > locktender.now()) THEN
    locktender.stack_runner_group.old_token_until END AS old_token_until;
