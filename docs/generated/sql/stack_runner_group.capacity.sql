-- stack_runner_group.capacity
-- $1 group_id
SELECT locktender.stack_runner_group.capacity, locktender.stack_runner_group.labels
FROM locktender.stack_runner_group
WHERE locktender.stack_runner_group.id = $1::UUID FOR UPDATE;
