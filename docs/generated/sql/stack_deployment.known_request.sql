-- stack_deployment.known_request
-- $1 workspace, $2 by, $3 key
SELECT locktender.stack_deployment.number, locktender.stack_deployment.request_digest, locktender.stack.name AS stack
FROM locktender.stack_deployment JOIN locktender.stack ON locktender.stack.id = locktender.stack_deployment.stack_id
WHERE locktender.stack_deployment.workspace = $1::VARCHAR AND locktender.stack_deployment.created_by = $2::VARCHAR AND
    locktender.stack_deployment.idempotency_key = $3::VARCHAR;
