-- stack_runner_group.one
-- $1 workspace, $2 name
SELECT locktender.stack_runner_group.id, locktender.stack_runner_group.workspace, locktender.stack_runner_group.name,
    locktender.stack_runner_group.labels, locktender.stack_runner_group.capacity,
    locktender.stack_runner_group.last_dispatch_error, locktender.stack_runner_group.created_by,
    locktender.stack_runner_group.created_at, locktender.stack_runner_group.updated_at, CASE WHEN
    (locktender.stack_runner_group.old_token_until > locktender.now()) THEN
    locktender.stack_runner_group.old_token_until END AS old_token_until
FROM locktender.stack_runner_group
WHERE locktender.stack_runner_group.workspace = $1::VARCHAR AND locktender.stack_runner_group.name = $2::VARCHAR;
