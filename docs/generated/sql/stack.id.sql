-- stack.id
-- $1 workspace, $2 name
SELECT locktender.stack.id, locktender.stack.project
FROM locktender.stack
WHERE locktender.stack.workspace = $1::VARCHAR AND locktender.stack.deleted_at IS NULL AND locktender.stack.name =
    $2::VARCHAR;
