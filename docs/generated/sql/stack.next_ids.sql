-- stack.next_ids
-- $1 after, $2 limit
SELECT locktender.stack.id
FROM locktender.stack
WHERE locktender.stack.id > $1::UUID ORDER BY locktender.stack.id
LIMIT $2::BIGINT;
