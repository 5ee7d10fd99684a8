-- On each: where the log comes in and goes out.
CREATE ENDPOINT readsplit_endpoint
	STATE = STARTED
	AS TCP (LISTENER_PORT = 5022)
	FOR DATABASE_MIRRORING (
		ROLE = ALL,
		AUTHENTICATION = CERTIFICATE readsplit_endpoint,
		ENCRYPTION = REQUIRED ALGORITHM AES
	);
GO
