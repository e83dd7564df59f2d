-- stack_runner.promised
-- $1 runner_id, $2 run_id, $3 assignment_hash
SELECT locktender.stack_runner.id
FROM locktender.stack_runner
WHERE locktender.stack_runner.id = $1::UUID AND locktender.stack_runner.run_id = $2::UUID AND
    locktender.stack_runner.assignment_hash = $3::BYTEA;
