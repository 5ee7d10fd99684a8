-- On sql2 and sql3: the same certificate.
CREATE MASTER KEY ENCRYPTION BY PASSWORD = '$(PASSWORD)';
CREATE CERTIFICATE readsplit_endpoint
	FROM FILE = '/certificates/endpoint.cer'
	WITH PRIVATE KEY (FILE = '/certificates/endpoint.pvk', DECRYPTION BY PASSWORD = '$(PASSWORD)');
GO
