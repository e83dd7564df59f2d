-- outbox.now
SELECT locktender.now() AS now;
