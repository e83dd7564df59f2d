-- Nothing could be blocked before, so the new rules hold of every row; now the server knows it.
set local lock_timeout = '5s';

set local statement_timeout = '600s';

ALTER TABLE locktender.deployment_task VALIDATE CONSTRAINT ck_deployment_task_blocked_asks;

ALTER TABLE locktender.deployment_task VALIDATE CONSTRAINT ck_deployment_task_resume_only_blocked;
