-- stack_runner_group.dispatch_error
-- $1 message, $2 run_id, $3 group_id
UPDATE locktender.stack_runner_group SET last_dispatch_error=jsonb_build_object('message', CAST($1::VARCHAR AS TEXT),
    'runId', CAST($2::UUID AS UUID), 'at', locktender.now()), updated_at=locktender.now() WHERE
    locktender.stack_runner_group.id = $3::UUID;
