-- stack_runner_group.change
-- $1 labels, $2 capacity, $3 workspace, $4 name
UPDATE locktender.stack_runner_group SET labels=coalesce(CAST($1::JSONB AS JSONB),
    locktender.stack_runner_group.labels), capacity=coalesce(CAST($2::INTEGER AS INTEGER),
    locktender.stack_runner_group.capacity), updated_at=locktender.now() WHERE locktender.stack_runner_group.workspace
    = $3::VARCHAR AND locktender.stack_runner_group.name = $4::VARCHAR RETURNING locktender.stack_runner_group.id,
    locktender.stack_runner_group.workspace, locktender.stack_runner_group.name, locktender.stack_runner_group.labels,
    locktender.stack_runner_group.capacity, locktender.stack_runner_group.last_dispatch_error,
    locktender.stack_runner_group.created_by, locktender.stack_runner_group.created_at,
    locktender.stack_runner_group.updated_at, CASE WHEN (locktender.stack_runner_group.old_token_until >
    locktender.now()) THEN locktender.stack_runner_group.old_token_until END AS old_token_until;
