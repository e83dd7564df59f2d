-- stack_state.remove
-- $1 age, $2 param_2, $3 versions, $4 ids, $5 limit
WITH outlived AS
  (SELECT older.id AS id
  FROM locktender.stack JOIN LATERAL (SELECT locktender.stack_state.id AS id, locktender.stack_state.created_at AS
      created_at
  FROM locktender.stack_state
  WHERE locktender.stack_state.stack_id = locktender.stack.id ORDER BY locktender.stack_state.created_at DESC,
      locktender.stack_state.id DESC
  LIMIT ALL OFFSET CASE WHEN (locktender.stack.deleted_at IS NOT NULL AND locktender.stack.deleted_at <=
      locktender.now() - ($1::FLOAT * make_interval(secs=>1.0))) THEN $2::INTEGER ELSE $3::BIGINT END) AS older ON
      true
  WHERE locktender.stack.id = any($4::UUID[]) AND older.created_at <= locktender.now() - ($1::FLOAT *
      make_interval(secs=>1.0)) AND (locktender.stack.deleted_at IS NOT NULL AND locktender.stack.deleted_at <=
      locktender.now() - ($1::FLOAT * make_interval(secs=>1.0)) OR older.id IS DISTINCT FROM
      locktender.stack.state_version_id)
  LIMIT $5::BIGINT)
DELETE FROM locktender.stack_state WHERE locktender.stack_state.id = any(array((SELECT outlived.id
  FROM outlived))) RETURNING locktender.stack_state.id, locktender.stack_state.stack_id,
      locktender.stack_state.object_key;
