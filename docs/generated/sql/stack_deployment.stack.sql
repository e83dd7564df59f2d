-- stack_deployment.stack
-- $1 id
SELECT locktender.stack_deployment.stack_id
FROM locktender.stack_deployment
WHERE locktender.stack_deployment.id = $1::UUID;
