-- stack_runner_group.remove
-- $1 id
DELETE FROM locktender.stack_runner_group WHERE locktender.stack_runner_group.id = $1::UUID;
