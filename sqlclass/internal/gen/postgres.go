package main

import (
	"fmt"
	"strings"
)

// harmlessVolatile are volatile functions that read and change nothing, checked
// one by one. random and its like are here although setseed exists: setseed is
// refused on a replica, and nothing else ties two calls together.
const harmlessVolatile = `
	random gen_random_uuid clock_timestamp timeofday current_query lo_get
	pg_is_in_recovery pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp
	pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system pg_jit_available
	pg_database_size pg_tablespace_size pg_relation_size pg_table_size pg_indexes_size pg_total_relation_size
	pg_partition_ancestors pg_partition_tree
	pg_is_wal_replay_paused pg_get_wal_replay_pause_state pg_xact_status txid_status
	pg_blocking_pids pg_safe_snapshot_blocking_pids pg_lock_status pg_prepared_xact
	pg_get_backend_memory_contexts pg_get_shmem_allocations pg_show_all_file_settings pg_hba_file_rules
	pg_collation_actual_version pg_database_collation_actual_version`

// dangerousStable are functions that pg_proc calls stable or immutable and that a
// replica cannot or must not run.
const dangerousStable = `
	pg_walfile_name pg_walfile_name_offset
	pg_replication_origin_oid
	txid_current_if_assigned pg_current_xact_id_if_assigned
	table_to_xml table_to_xmlschema table_to_xml_and_xmlschema
	schema_to_xml schema_to_xmlschema schema_to_xml_and_xmlschema
	database_to_xml database_to_xmlschema database_to_xml_and_xmlschema
	pg_cursor pg_prepared_statement pg_listening_channels pg_my_temp_schema
	pg_event_trigger_ddl_commands pg_event_trigger_dropped_objects
	pg_event_trigger_table_rewrite_oid pg_event_trigger_table_rewrite_reason`

// writes are functions that change data, or something that other sessions see.
// txid_current is stable to pg_proc and assigns a transaction id.
const writes = `
	nextval setval txid_current pg_current_xact_id pg_notify pg_logical_emit_message
	lo_creat lo_create lo_export lo_from_bytea lo_import lo_put lo_truncate lo_truncate64 lo_unlink lowrite
	pg_switch_wal pg_create_restore_point pg_backup_start pg_backup_stop pg_promote
	pg_wal_replay_pause pg_wal_replay_resume pg_reload_conf pg_rotate_logfile pg_rotate_logfile_old
	pg_cancel_backend pg_terminate_backend pg_log_backend_memory_contexts pg_log_standby_snapshot
	pg_stat_reset pg_stat_reset_backend_stats pg_stat_reset_replication_slot pg_stat_reset_shared
	pg_stat_reset_single_function_counters pg_stat_reset_single_table_counters pg_stat_reset_slru
	pg_stat_reset_subscription_stats
	pg_clear_attribute_stats pg_clear_relation_stats pg_restore_attribute_stats pg_restore_relation_stats
	pg_create_logical_replication_slot pg_create_physical_replication_slot
	pg_copy_logical_replication_slot pg_copy_physical_replication_slot pg_drop_replication_slot
	pg_replication_slot_advance pg_sync_replication_slots
	pg_logical_slot_get_binary_changes pg_logical_slot_get_changes
	pg_replication_origin_advance pg_replication_origin_create pg_replication_origin_drop
	brin_desummarize_range brin_summarize_new_values brin_summarize_range gin_clean_pending_list
	pg_import_system_collations pg_extension_config_dump pg_nextoid pg_stop_making_pinned_objects`

// session are functions that leave something behind on their connection.
const session = `
	set_config setseed lo_open lo_close
	pg_advisory_lock pg_advisory_lock_shared pg_try_advisory_lock pg_try_advisory_lock_shared
	pg_advisory_unlock pg_advisory_unlock_all pg_advisory_unlock_shared
	pg_replication_origin_session_reset pg_replication_origin_session_setup
	pg_replication_origin_xact_reset pg_replication_origin_xact_setup
	pg_stat_clear_snapshot pg_stat_force_next_flush`

// plainKeywords are keywords of commands other than queries, often the names of
// columns, and never in front of an operand in a query.
const plainKeywords = `
	action class comment data domain event header index label language level location mapping method mode name
	object owner password policy program role rule schema sequence server session source statistics storage
	target template text transaction type view
	day hour minute month second year`

func postgresFile(servers []server) (file, error) {
	versions := []string{servers[0].version}
	stable, volatile := servers[0].stable, servers[0].volatile
	keywords, reserved := servers[0].keywords, servers[0].reserved
	for _, s := range servers[1:] {
		versions = append(versions, s.version)
		stable = intersect(stable, s.stable)
		volatile = union(volatile, s.volatile)
		keywords = union(keywords, s.keywords)
		reserved = union(reserved, s.reserved)
	}
	harmless := union(stable)
	for n := range volatile {
		harmless.remove(n)
	}
	reviewed := words(harmlessVolatile, dangerousStable, writes, session)
	for n := range reviewed {
		if !stable[n] && !volatile[n] && !strings.HasPrefix(n, "pg_event_trigger_") {
			return file{}, fmt.Errorf("gen: reviewed function %s: no server knows it, check its spelling", n)
		}
		harmless.remove(n)
	}
	harmless.add(strings.Fields(harmlessVolatile)...)
	refused := union(volatile, words(dangerousStable))
	for n := range union(harmless, words(writes, session)) {
		refused.remove(n)
	}
	for n := range harmless {
		// The support functions of pg_upgrade are strict and immutable to the eye.
		if strings.HasPrefix(n, "binary_upgrade_") {
			return file{}, fmt.Errorf("gen: %s is called harmless: review it", n)
		}
	}
	for n := range words(plainKeywords) {
		if !keywords[n] || reserved[n] {
			return file{}, fmt.Errorf("gen: plain keyword %s: it is reserved or no keyword", n)
		}
		keywords.remove(n)
	}
	return file{
		header: "From PostgreSQL " + strings.Join(versions, " and ") + ":\n\n" + indent(functionsQuery) +
			"\n\nand\n\n" + indent(keywordsQuery) + "\n\nwith the reviewed lists in sqlclass/internal/gen/postgres.go.",
		tables: []table{
			{"postgresHarmless", "are functions of pg_catalog that read and change nothing, on every version.", harmless},
			{"postgresWrites", "are functions of pg_catalog that change something others can see.", words(writes)},
			{"postgresSession", "are functions of pg_catalog that change the state of their connection.", words(session)},
			{"postgresRefused", "are functions of pg_catalog that are not proven harmless on a replica.", refused},
			{"postgresReserved", "are keywords that cannot be the name of a function.", reserved},
			{"postgresKeywords", "are keywords of any version that may stand in front of an operand.", keywords},
		},
	}, nil
}

func indent(sql string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSpace(sql), "\n", "\n\t")
}
