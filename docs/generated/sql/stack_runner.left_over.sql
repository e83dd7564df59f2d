-- stack_runner.left_over
-- $1 run_id
DELETE FROM locktender.stack_runner WHERE locktender.stack_runner.run_id = $1::UUID;
