-- stack_variable.count
-- $1 stack_id
SELECT count(*) AS number
FROM locktender.stack_variable
WHERE locktender.stack_variable.stack_id = $1::UUID;
