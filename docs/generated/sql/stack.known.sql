-- stack.known
-- $1 ids
SELECT locktender.stack.id
FROM locktender.stack
WHERE locktender.stack.id = any($1::UUID[]);
