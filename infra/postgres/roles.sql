-- Generated from locktender.storage.roles by tools/generate.py. Run by the owner of the schema, who may
-- create roles. Set the passwords yourself: ALTER ROLE locktender_api PASSWORD '…'.
begin;
select pg_advisory_xact_lock(4296);
revoke all on schema locktender from public;
revoke all on all functions in schema locktender from public;

-- api
do $$ begin create role locktender_api login;
exception when duplicate_object or unique_violation then null; end $$;
alter role locktender_api login noinherit connection limit 100;
alter role locktender_api set search_path = pg_catalog;
alter role locktender_api set statement_timeout = '30s';
alter role locktender_api set lock_timeout = '10s';
alter role locktender_api set idle_in_transaction_session_timeout = '15s';
revoke all on all tables in schema locktender from locktender_api;
revoke all on all sequences in schema locktender from locktender_api;
revoke all on all functions in schema locktender from locktender_api;
grant usage on schema locktender to locktender_api;
grant execute on function locktender.now() to locktender_api;
grant execute on function locktender.new_event_id() to locktender_api;
grant select, insert, update on locktender.deployment_task to locktender_api;
grant select on locktender.deployment_plan to locktender_api;
grant select, insert on locktender.deployment_event to locktender_api;
grant insert on locktender.outbox to locktender_api;
grant usage on sequence locktender.outbox_seq to locktender_api;

-- outbox
do $$ begin create role locktender_outbox login;
exception when duplicate_object or unique_violation then null; end $$;
alter role locktender_outbox login noinherit connection limit 100;
alter role locktender_outbox set search_path = pg_catalog;
alter role locktender_outbox set statement_timeout = '30s';
alter role locktender_outbox set lock_timeout = '10s';
alter role locktender_outbox set idle_in_transaction_session_timeout = '15s';
revoke all on all tables in schema locktender from locktender_outbox;
revoke all on all sequences in schema locktender from locktender_outbox;
revoke all on all functions in schema locktender from locktender_outbox;
grant usage on schema locktender to locktender_outbox;
grant execute on function locktender.now() to locktender_outbox;
grant execute on function locktender.new_event_id() to locktender_outbox;
grant execute on function locktender.outbox_prepare(integer) to locktender_outbox;
grant execute on function locktender.outbox_retire(interval) to locktender_outbox;
grant select, update (published_at, attempts, next_attempt_at, last_error) on locktender.outbox to locktender_outbox;
grant select, insert, update on locktender.service_shard to locktender_outbox;

-- runner
do $$ begin create role locktender_runner login;
exception when duplicate_object or unique_violation then null; end $$;
alter role locktender_runner login noinherit connection limit 100;
alter role locktender_runner set search_path = pg_catalog;
alter role locktender_runner set statement_timeout = '30s';
alter role locktender_runner set lock_timeout = '10s';
alter role locktender_runner set idle_in_transaction_session_timeout = '15s';
revoke all on all tables in schema locktender from locktender_runner;
revoke all on all sequences in schema locktender from locktender_runner;
revoke all on all functions in schema locktender from locktender_runner;
grant usage on schema locktender to locktender_runner;
grant execute on function locktender.now() to locktender_runner;
grant execute on function locktender.new_event_id() to locktender_runner;
grant select, update on locktender.deployment_task to locktender_runner;
grant select, insert, update on locktender.deployment_plan to locktender_runner;
grant select, insert on locktender.deployment_event to locktender_runner;
grant insert on locktender.outbox to locktender_runner;
grant usage on sequence locktender.outbox_seq to locktender_runner;

-- reaper
do $$ begin create role locktender_reaper login;
exception when duplicate_object or unique_violation then null; end $$;
alter role locktender_reaper login noinherit connection limit 100;
alter role locktender_reaper set search_path = pg_catalog;
alter role locktender_reaper set statement_timeout = '30s';
alter role locktender_reaper set lock_timeout = '10s';
alter role locktender_reaper set idle_in_transaction_session_timeout = '15s';
revoke all on all tables in schema locktender from locktender_reaper;
revoke all on all sequences in schema locktender from locktender_reaper;
revoke all on all functions in schema locktender from locktender_reaper;
grant usage on schema locktender to locktender_reaper;
grant execute on function locktender.now() to locktender_reaper;
grant execute on function locktender.new_event_id() to locktender_reaper;
grant select, update on locktender.deployment_task to locktender_reaper;
grant select, insert, update, delete on locktender.cleanup_job to locktender_reaper;
grant select, insert on locktender.deployment_event to locktender_reaper;
grant insert on locktender.outbox to locktender_reaper;
grant usage on sequence locktender.outbox_seq to locktender_reaper;

-- cleanup
do $$ begin create role locktender_cleanup login;
exception when duplicate_object or unique_violation then null; end $$;
alter role locktender_cleanup login noinherit connection limit 100;
alter role locktender_cleanup set search_path = pg_catalog;
alter role locktender_cleanup set statement_timeout = '30s';
alter role locktender_cleanup set lock_timeout = '10s';
alter role locktender_cleanup set idle_in_transaction_session_timeout = '15s';
revoke all on all tables in schema locktender from locktender_cleanup;
revoke all on all sequences in schema locktender from locktender_cleanup;
revoke all on all functions in schema locktender from locktender_cleanup;
grant usage on schema locktender to locktender_cleanup;
grant execute on function locktender.now() to locktender_cleanup;
grant execute on function locktender.new_event_id() to locktender_cleanup;
grant select, delete on locktender.deployment_task to locktender_cleanup;
grant select, update on locktender.cleanup_job to locktender_cleanup;
grant select on locktender.deployment_event to locktender_cleanup;
grant insert on locktender.outbox to locktender_cleanup;
grant usage on sequence locktender.outbox_seq to locktender_cleanup;

-- ops
do $$ begin create role locktender_ops login;
exception when duplicate_object or unique_violation then null; end $$;
alter role locktender_ops login noinherit connection limit 10;
alter role locktender_ops set search_path = pg_catalog;
alter role locktender_ops set statement_timeout = '60s';
alter role locktender_ops set lock_timeout = '10s';
alter role locktender_ops set idle_in_transaction_session_timeout = '15s';
revoke all on all tables in schema locktender from locktender_ops;
revoke all on all sequences in schema locktender from locktender_ops;
revoke all on all functions in schema locktender from locktender_ops;
grant usage on schema locktender to locktender_ops;
grant execute on function locktender.now() to locktender_ops;
grant execute on function locktender.new_event_id() to locktender_ops;
grant select on locktender.deployment_task to locktender_ops;
grant select on locktender.deployment_event to locktender_ops;
grant select on locktender.deployment_plan to locktender_ops;
grant select on locktender.cleanup_job to locktender_ops;
grant select on locktender.outbox to locktender_ops;
grant select on locktender.service_shard to locktender_ops;
commit;
