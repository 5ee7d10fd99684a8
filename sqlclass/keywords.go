package sqlclass

// keyword names the words that decide something. All other words are kwNone.
type keyword uint8

const (
	kwNone keyword = iota
	kwAbort
	kwAll
	kwAlter
	kwAnalyze
	kwAnd
	kwAs
	kwBegin
	kwBy
	kwCall
	kwCase
	kwCharacter
	kwCharacteristics
	kwCheckpoint
	kwClose
	kwCluster
	kwComment
	kwCommit
	kwCopy
	kwCreate
	kwCube
	kwCycle
	kwDeallocate
	kwDeclare
	kwDelete
	kwDiscard
	kwDistinct
	kwDo
	kwDrop
	kwElse
	kwEnd
	kwExcept
	kwExecute
	kwExplain
	kwFetch
	kwFirst
	kwFor
	kwFrom
	kwGrant
	kwGroup
	kwGrouping
	kwHaving
	kwIlike
	kwImport
	kwInsert
	kwIntersect
	kwInto
	kwJoin
	kwJoinSide // LEFT, RIGHT, FULL, INNER, OUTER, CROSS, NATURAL
	kwKey
	kwLike
	kwLimit
	kwListen
	kwLoad
	kwLocal
	kwLock
	kwMaterialized
	kwMerge
	kwMove
	kwNext
	kwNo
	kwNot
	kwNotify
	kwOffset
	kwOn
	kwOperator
	kwOr
	kwOrder
	kwOrdinality
	kwPartition
	kwPrepare
	kwPrepared
	kwReassign
	kwRecursive
	kwRefresh
	kwReindex
	kwRelease
	kwReset
	kwRevoke
	kwRollback
	kwRollup
	kwSave
	kwSavepoint
	kwSearch
	kwSecurity
	kwSelect
	kwSession
	kwSet
	kwSets
	kwShare
	kwShow
	kwStart
	kwTable
	kwTablesample
	kwTemp
	kwThen
	kwTime
	kwTo
	kwTransaction
	kwTruncate
	kwUnion
	kwUnlisten
	kwUpdate
	kwUse
	kwVacuum
	kwValue
	kwValues
	kwVarying
	kwVerbose
	kwWhen
	kwWhere
	kwWindow
	kwWith
	kwWithin
	kwWork
	kwZone
	// SQL Server only.
	kwApply
	kwBulk
	kwDBCC
	kwExec
	kwLockHint      // UPDLOCK, XLOCK, HOLDLOCK, ...
	kwSnapshotHint  // NOLOCK, READUNCOMMITTED
	kwStartsAnother // IF, WHILE, PRINT, ...: no part of a query
	kwTran
)

// longestKeyword bounds the words that are looked up at all.
const longestKeyword = 17

type wordEntry struct {
	word string
	kw   keyword
}

// keywordOf looks an unquoted word up, in any case. A word that only one of the
// dialects knows is guarded by the dialect where it matters.
func keywordOf(d Dialect, word string) keyword {
	if len(word) > longestKeyword {
		return kwNone
	}
	if kw := findWord(&sharedWords, word); kw != kwNone || d != SQLServer {
		return kw
	}
	return findWord(&transactWords, word)
}

func findWord(table *[longestKeyword + 1][]wordEntry, word string) keyword {
	entries := table[len(word)]
	for i := range entries {
		if e := &entries[i]; e.word[0] == word[0]|0x20 && equalFold(word, e.word) {
			return e.kw
		}
	}
	return kwNone
}

// sharedWords by length.
var sharedWords = [longestKeyword + 1][]wordEntry{
	2: {
		{"as", kwAs}, {"by", kwBy}, {"do", kwDo}, {"no", kwNo}, {"on", kwOn}, {"or", kwOr}, {"to", kwTo},
	},
	3: {
		{"all", kwAll}, {"and", kwAnd}, {"bit", kwCharacter}, {"end", kwEnd}, {"for", kwFor}, {"key", kwKey},
		{"not", kwNot}, {"set", kwSet}, {"use", kwUse},
	},
	4: {
		{"call", kwCall}, {"case", kwCase}, {"char", kwCharacter}, {"copy", kwCopy}, {"cube", kwCube},
		{"drop", kwDrop}, {"else", kwElse}, {"from", kwFrom}, {"full", kwJoinSide}, {"into", kwInto},
		{"join", kwJoin}, {"left", kwJoinSide}, {"like", kwLike}, {"load", kwLoad}, {"lock", kwLock},
		{"move", kwMove}, {"next", kwNext}, {"save", kwSave}, {"sets", kwSets}, {"show", kwShow}, {"temp", kwTemp},
		{"then", kwThen}, {"time", kwTime}, {"when", kwWhen}, {"with", kwWith}, {"work", kwWork}, {"zone", kwZone},
	},
	5: {
		{"abort", kwAbort}, {"alter", kwAlter}, {"begin", kwBegin}, {"close", kwClose}, {"cross", kwJoinSide},
		{"cycle", kwCycle}, {"fetch", kwFetch}, {"first", kwFirst}, {"grant", kwGrant}, {"group", kwGroup},
		{"ilike", kwIlike}, {"inner", kwJoinSide}, {"limit", kwLimit}, {"local", kwLocal}, {"merge", kwMerge},
		{"nchar", kwCharacter}, {"order", kwOrder}, {"outer", kwJoinSide}, {"reset", kwReset},
		{"right", kwJoinSide}, {"share", kwShare}, {"start", kwStart}, {"table", kwTable}, {"union", kwUnion},
		{"value", kwValue}, {"where", kwWhere},
	},
	6: {
		{"commit", kwCommit}, {"create", kwCreate}, {"delete", kwDelete}, {"except", kwExcept},
		{"having", kwHaving}, {"import", kwImport}, {"insert", kwInsert}, {"listen", kwListen},
		{"notify", kwNotify}, {"offset", kwOffset}, {"revoke", kwRevoke}, {"rollup", kwRollup},
		{"search", kwSearch}, {"select", kwSelect}, {"update", kwUpdate}, {"vacuum", kwVacuum},
		{"values", kwValues}, {"window", kwWindow}, {"within", kwWithin},
	},
	7: {
		{"analyse", kwAnalyze}, {"analyze", kwAnalyze}, {"cluster", kwCluster}, {"comment", kwComment},
		{"declare", kwDeclare}, {"discard", kwDiscard}, {"execute", kwExecute}, {"explain", kwExplain},
		{"natural", kwJoinSide}, {"prepare", kwPrepare}, {"refresh", kwRefresh}, {"reindex", kwReindex},
		{"release", kwRelease}, {"session", kwSession}, {"varying", kwVarying}, {"verbose", kwVerbose},
	},
	8: {
		{"distinct", kwDistinct}, {"grouping", kwGrouping}, {"operator", kwOperator}, {"prepared", kwPrepared},
		{"reassign", kwReassign}, {"rollback", kwRollback}, {"security", kwSecurity}, {"truncate", kwTruncate},
		{"unlisten", kwUnlisten},
	},
	9: {
		{"character", kwCharacter}, {"intersect", kwIntersect}, {"partition", kwPartition},
		{"recursive", kwRecursive}, {"savepoint", kwSavepoint}, {"temporary", kwTemp},
	},
	10: {
		{"checkpoint", kwCheckpoint}, {"deallocate", kwDeallocate}, {"ordinality", kwOrdinality},
	},
	11: {
		{"tablesample", kwTablesample}, {"transaction", kwTransaction},
	},
	12: {
		{"materialized", kwMaterialized},
	},
	15: {
		{"characteristics", kwCharacteristics},
	},
}

// transactWords are keywords to SQL Server alone.
var transactWords = [longestKeyword + 1][]wordEntry{
	2: {
		{"go", kwStartsAnother}, {"if", kwStartsAnother},
	},
	3: {
		{"add", kwStartsAnother},
	},
	4: {
		{"bulk", kwBulk}, {"dbcc", kwDBCC}, {"deny", kwStartsAnother}, {"dump", kwStartsAnother}, {"exec", kwExec},
		{"goto", kwStartsAnother}, {"kill", kwStartsAnother}, {"open", kwStartsAnother}, {"send", kwStartsAnother},
		{"tran", kwTran},
	},
	5: {
		{"apply", kwApply}, {"break", kwStartsAnother}, {"print", kwStartsAnother}, {"throw", kwStartsAnother},
		{"while", kwStartsAnother}, {"xlock", kwLockHint},
	},
	6: {
		{"backup", kwStartsAnother}, {"enable", kwStartsAnother}, {"nolock", kwSnapshotHint},
		{"output", kwStartsAnother}, {"return", kwStartsAnother}, {"revert", kwStartsAnother},
	},
	7: {
		{"disable", kwStartsAnother}, {"paglock", kwLockHint}, {"receive", kwStartsAnother},
		{"restore", kwStartsAnother}, {"setuser", kwStartsAnother}, {"tablock", kwLockHint},
		{"trigger", kwStartsAnother}, {"updlock", kwLockHint}, {"waitfor", kwStartsAnother},
	},
	8: {
		{"continue", kwStartsAnother}, {"holdlock", kwLockHint}, {"readpast", kwLockHint},
		{"readtext", kwStartsAnother}, {"shutdown", kwStartsAnother}, {"tablockx", kwLockHint},
	},
	9: {
		{"raiserror", kwStartsAnother}, {"writetext", kwStartsAnother},
	},
	10: {
		{"statistics", kwStartsAnother}, {"updatetext", kwStartsAnother},
	},
	11: {
		{"reconfigure", kwStartsAnother},
	},
	12: {
		{"serializable", kwLockHint},
	},
	14: {
		{"repeatableread", kwLockHint},
	},
	15: {
		{"readuncommitted", kwSnapshotHint},
	},
	17: {
		{"readcommittedlock", kwLockHint},
	},
}
