-- stack_runner.remove
-- $1 runner_id
DELETE FROM locktender.stack_runner WHERE locktender.stack_runner.id = $1::UUID;
