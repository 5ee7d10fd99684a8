-- On sql1, when all have joined: the other two get a copy by themselves.
ALTER AVAILABILITY GROUP readsplit ADD DATABASE shop;
GO
