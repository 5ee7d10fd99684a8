-- On sql1: the certificate with which the servers know each other.
CREATE MASTER KEY ENCRYPTION BY PASSWORD = '$(PASSWORD)';
CREATE CERTIFICATE readsplit_endpoint WITH SUBJECT = 'readsplit';
BACKUP CERTIFICATE readsplit_endpoint
	TO FILE = '/certificates/endpoint.cer'
	WITH PRIVATE KEY (FILE = '/certificates/endpoint.pvk', ENCRYPTION BY PASSWORD = '$(PASSWORD)');
GO
