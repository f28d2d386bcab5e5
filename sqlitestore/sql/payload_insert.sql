INSERT INTO braid_payloads (job, payload) VALUES (?1, ?2);
