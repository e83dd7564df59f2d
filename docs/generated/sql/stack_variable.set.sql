-- stack_variable.set
-- $1 stack_id, $2 kind, $3 name, $4 value, $5 sealed, $6 updated_by
INSERT INTO locktender.stack_variable (stack_id, kind, name, value, sealed, updated_by, updated_at) VALUES ($1::UUID,
    $2::VARCHAR, $3::VARCHAR, $4::VARCHAR, $5::BYTEA, $6::VARCHAR, locktender.now()) ON CONFLICT (stack_id, kind,
    name) DO UPDATE SET value = $4::VARCHAR, sealed = $5::BYTEA, updated_by = $6::VARCHAR, updated_at =
    locktender.now() RETURNING locktender.stack_variable.kind, locktender.stack_variable.name,
    locktender.stack_variable.value, locktender.stack_variable.sealed IS NOT NULL AS sensitive,
    locktender.stack_variable.updated_by, locktender.stack_variable.updated_at;
