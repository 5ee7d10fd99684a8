-- On sql1: a database that can join a group has full recovery and a backup. Positions need
-- DELAYED_DURABILITY to be DISABLED, which is the default.
CREATE DATABASE shop;
GO
ALTER DATABASE shop SET RECOVERY FULL;
ALTER DATABASE shop SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;
GO
BACKUP DATABASE shop TO DISK = N'/var/opt/mssql/data/shop.bak' WITH INIT;
GO
