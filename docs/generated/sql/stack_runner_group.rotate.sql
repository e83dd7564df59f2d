-- stack_runner_group.rotate
-- $1 token_hash, $2 keep_seconds, $3 id
UPDATE locktender.stack_runner_group SET token_hash=$1::BYTEA,
    old_token_hash=locktender.stack_runner_group.token_hash, old_token_until=(locktender.now() + ($2::FLOAT *
    make_interval(secs=>1.0))), updated_at=locktender.now() WHERE locktender.stack_runner_group.id = $3::UUID
    RETURNING locktender.stack_runner_group.id, locktender.stack_runner_group.workspace,
    locktender.stack_runner_group.name, locktender.stack_runner_group.labels, locktender.stack_runner_group.capacity,
    locktender.stack_runner_group.last_dispatch_error, locktender.stack_runner_group.created_by,
    locktender.stack_runner_group.created_at, locktender.stack_runner_group.updated_at, CASE WHEN
    (locktender.stack_runner_group.old_token_until > locktender.now()) THEN
    locktender.stack_runner_group.old_token_until END AS old_token_until;
