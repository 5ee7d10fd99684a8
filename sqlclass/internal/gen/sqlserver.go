package main

// transactHarmless are built-in functions of SQL Server that read and change
// nothing. A user's own scalar function always needs a schema in front, so a name
// without one cannot be it.
const transactHarmless = `
	approx_count_distinct approx_percentile_cont approx_percentile_disc avg checksum_agg count count_big
	grouping grouping_id max min stdev stdevp string_agg sum var varp
	cume_dist first_value lag last_value lead percentile_cont percentile_disc percent_rank
	row_number rank dense_rank ntile
	left_shift right_shift bit_count get_bit set_bit
	cast convert parse try_cast try_convert try_parse
	datefromparts datetime2fromparts datetimefromparts datetimeoffsetfromparts smalldatetimefromparts
	timefromparts sysdatetime sysdatetimeoffset sysutcdatetime getdate getutcdate current_timezone
	current_timezone_id datename datepart day month year datediff datediff_big dateadd eomonth switchoffset
	todatetimeoffset isdate date_bucket datetrunc
	isjson json_value json_query json_modify json_path_exists json_object json_array json_objectagg
	json_arrayagg openjson
	abs acos asin atan atn2 ceiling cos cot degrees exp floor log log10 pi power radians rand round sign sin
	sqrt square tan
	choose iif greatest least isnull
	ascii char charindex concat concat_ws datalength difference format left len lower ltrim nchar patindex
	quotename replace replicate reverse right rtrim soundex space str string_escape string_split stuff
	substring translate trim unicode upper
	newid crypt_gen_random parsename checksum binary_checksum hashbytes isnumeric compress decompress generate_series formatmessage
	db_id db_name object_id object_name object_schema_name schema_id schema_name type_id type_name
	col_name col_length columnproperty objectproperty objectpropertyex databasepropertyex serverproperty
	index_col indexproperty typeproperty object_definition
	user_name user_id suser_name suser_sname suser_id suser_sid original_login host_name host_id app_name
	is_member is_rolemember is_srvrolemember has_perms_by_name database_principal_id`

// transactRefused are built-in functions that reach another server, or whose
// answer belongs to the connection or to the statement before.
const transactRefused = `
	openquery openrowset opendatasource openxml
	scope_identity ident_current ident_seed ident_incr newsequentialid min_active_rowversion
	context_info session_context current_transaction_id xact_state rowcount_big cursor_status
	trigger_nestlevel applock_mode applock_test update columns_updated connectionproperty
	error_line error_message error_number error_procedure error_severity error_state get_filestream_transaction_context`

// transactReserved are words that stand before a parenthesis without calling
// anything: syntax, and names of types with a length.
const transactReserved = `
	all and any apply as auto between by case check coalesce collate contains containstable default distinct else
	end escape except exclude exists explicit freetext freetexttable from full group having in index inner
	intersect into is join key like next not null nullif offset on option or order outer over partition path
	percent pivot primary raw root select semantickeyphrasetable semanticsimilaritytable set some tablesample
	then top union unique unpivot using values when where with within
	forceseek hint
	binary char decimal dec datetime2 datetimeoffset float nchar numeric nvarchar time varbinary varchar`

// transactKeywords are all words behind which an operand may begin: the reserved
// words of Transact-SQL and those that mean something in places.
const transactKeywords = `
	add all alter and any as asc authorization backup begin between break browse bulk by cascade case check
	checkpoint close clustered coalesce collate column commit compute constraint contains containstable
	continue convert create cross current current_date current_time current_timestamp current_user cursor
	database dbcc deallocate declare default delete deny desc disk distinct distributed double drop dump else
	end errlvl escape except exec execute exists exit external fetch file fillfactor for foreign freetext
	freetexttable from full function goto grant group having holdlock identity identity_insert identitycol if
	in index inner insert intersect into is join key kill left like lineno load merge national nocheck
	nonclustered not null nullif of off offsets on open opendatasource openquery openrowset openxml option or
	order outer over percent pivot plan precision primary print proc procedure public raiserror read readtext
	reconfigure references replication restore restrict return revert revoke right rollback rowcount
	rowguidcol rule save schema securityaudit select semantickeyphrasetable
	semanticsimilaritydetailstable semanticsimilaritytable session_user set setuser shutdown some statistics
	system_user table tablesample textsize then to top tran transaction trigger truncate try_convert tsequal
	union unique unpivot update updatetext use user values varying view waitfor when where while with within
	writetext
	apply at auto cast columns explicit filter first following hash hint json last loop matched max maxdop
	next nolock offset only optimize output parse partition path preceding range raw recompile remote root
	row rows system_time ties try_cast try_parse unbounded using value xml zone`

// transactVariables are the @@name functions whose answer is about the server.
const transactVariables = `
	datefirst langid language max_connections max_precision microsoftversion servername servicename spid version`

func transactFile() file {
	return file{
		header: "Reviewed by hand, in sqlclass/internal/gen/sqlserver.go.",
		tables: []table{
			{"transactHarmless", "are built-in functions that read and change nothing.", words(transactHarmless)},
			{"transactRefused", "are built-in functions that are not harmless on a replica.", words(transactRefused)},
			{"transactReserved", "are words that stand before a parenthesis without calling anything.", words(transactReserved)},
			{"transactKeywords", "are words behind which an operand may begin.", words(transactKeywords)},
			{"transactVariables", "are the @@names that are about the server.", words(transactVariables)},
		},
	}
}
