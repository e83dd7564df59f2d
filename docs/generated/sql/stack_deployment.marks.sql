-- stack_deployment.marks
-- $1 ids
SELECT locktender.stack_deployment.id, locktender.stack_deployment.revision, locktender.stack.revision AS
    stack_revision, locktender.stack.lane_holder, holder.revision AS ahead
FROM locktender.stack_deployment JOIN locktender.stack ON locktender.stack.id = locktender.stack_deployment.stack_id
    LEFT OUTER JOIN locktender.stack_deployment AS holder ON holder.id = locktender.stack.lane_holder
WHERE locktender.stack_deployment.id = any($1::UUID[]);
