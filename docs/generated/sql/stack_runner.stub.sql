-- stack_runner.stub
-- $1 runner_id, $2 group_id, $3 name, $4 status, $5 run_id, $6 assignment_hash
INSERT INTO locktender.stack_runner (id, group_id, name, status, run_id, assignment_hash) VALUES ($1::UUID, $2::UUID,
    $3::VARCHAR, $4::VARCHAR, $5::UUID, $6::BYTEA) RETURNING locktender.stack_runner.id,
    locktender.stack_runner.group_id, locktender.stack_runner.name, locktender.stack_runner.status,
    locktender.stack_runner.run_id, locktender.stack_runner.assignment_hash, locktender.stack_runner.last_seen_at,
    locktender.stack_runner.created_at;
