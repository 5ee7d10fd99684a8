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

type wordEntry struct {
	word string
	kw   keyword
}

// keywordOf looks an unquoted word up, in any case. A word that only one of the
// dialects knows is guarded by the dialect where it matters.
func keywordOf(d Dialect, word string) keyword {
	return keywordBy(d, keyOf(word), word)
}

// keywordBy is keywordOf for a word whose key is known.
func keywordBy(d Dialect, key wordKey, word string) keyword {
	for i := key.hash(len(word)); ; i++ {
		e := &keywordTable[i%keywordPlaces]
		switch {
		case e.kw == kwNone:
			return kwNone
		case e.key != key, len(word) != int(e.length):
		case e.length > keyLength && !equalFold(word, longKeywords[e.long]):
		case e.transact && d != SQLServer:
			return kwNone
		default:
			return e.kw
		}
	}
}

// mayBeKeyword answers for most words, which are none.
func mayBeKeyword(key wordKey, length int) bool {
	return keywordTable[key.hash(length)%keywordPlaces].kw != kwNone
}

// keywordPlaces is a power of two, and so many that most words that are no keywords
// come upon an empty place at once.
const keywordPlaces = 1 << 9

type keywordEntry struct {
	key      wordKey
	kw       keyword
	length   uint8
	long     uint8 // where the word stands in longKeywords, if its key is not all of it
	transact bool
}

var keywordTable, longKeywords = tableOf(sharedWords, transactWords)

// tableOf puts each word at the first empty place from its own on.
func tableOf(shared, transact []wordEntry) (table [keywordPlaces]keywordEntry, long []string) {
	for n, words := range [][]wordEntry{shared, transact} {
		for _, w := range words {
			e := keywordEntry{key: keyOf(w.word), kw: w.kw, length: uint8(len(w.word)), transact: n == 1}
			if len(w.word) > keyLength {
				e.long = uint8(len(long))
				long = append(long, w.word)
			}
			i := e.key.hash(len(w.word))
			for table[i%keywordPlaces].kw != kwNone {
				i++
			}
			table[i%keywordPlaces] = e
		}
	}
	return table, long
}

// sharedWords are keywords to both dialects, or to PostgreSQL alone.
var sharedWords = []wordEntry{
	{"abort", kwAbort}, {"all", kwAll}, {"alter", kwAlter}, {"analyse", kwAnalyze}, {"analyze", kwAnalyze},
	{"and", kwAnd}, {"as", kwAs},
	{"begin", kwBegin}, {"bit", kwCharacter}, {"by", kwBy},
	{"call", kwCall}, {"case", kwCase}, {"char", kwCharacter}, {"character", kwCharacter},
	{"characteristics", kwCharacteristics}, {"checkpoint", kwCheckpoint}, {"close", kwClose},
	{"cluster", kwCluster}, {"comment", kwComment}, {"commit", kwCommit}, {"copy", kwCopy}, {"create", kwCreate},
	{"cross", kwJoinSide}, {"cube", kwCube}, {"cycle", kwCycle},
	{"deallocate", kwDeallocate}, {"declare", kwDeclare}, {"delete", kwDelete}, {"discard", kwDiscard},
	{"distinct", kwDistinct}, {"do", kwDo}, {"drop", kwDrop},
	{"else", kwElse}, {"end", kwEnd}, {"except", kwExcept}, {"execute", kwExecute}, {"explain", kwExplain},
	{"fetch", kwFetch}, {"first", kwFirst}, {"for", kwFor}, {"from", kwFrom}, {"full", kwJoinSide},
	{"grant", kwGrant}, {"group", kwGroup}, {"grouping", kwGrouping},
	{"having", kwHaving},
	{"ilike", kwIlike}, {"import", kwImport}, {"inner", kwJoinSide}, {"insert", kwInsert},
	{"intersect", kwIntersect}, {"into", kwInto},
	{"join", kwJoin},
	{"key", kwKey},
	{"left", kwJoinSide}, {"like", kwLike}, {"limit", kwLimit}, {"listen", kwListen}, {"load", kwLoad},
	{"local", kwLocal}, {"lock", kwLock},
	{"materialized", kwMaterialized}, {"merge", kwMerge}, {"move", kwMove},
	{"natural", kwJoinSide}, {"nchar", kwCharacter}, {"next", kwNext}, {"no", kwNo}, {"not", kwNot},
	{"notify", kwNotify},
	{"offset", kwOffset}, {"on", kwOn}, {"operator", kwOperator}, {"or", kwOr}, {"order", kwOrder},
	{"ordinality", kwOrdinality}, {"outer", kwJoinSide},
	{"partition", kwPartition}, {"prepare", kwPrepare}, {"prepared", kwPrepared},
	{"reassign", kwReassign}, {"recursive", kwRecursive}, {"refresh", kwRefresh}, {"reindex", kwReindex},
	{"release", kwRelease}, {"reset", kwReset}, {"revoke", kwRevoke}, {"right", kwJoinSide},
	{"rollback", kwRollback}, {"rollup", kwRollup},
	{"save", kwSave}, {"savepoint", kwSavepoint}, {"search", kwSearch}, {"security", kwSecurity},
	{"select", kwSelect}, {"session", kwSession}, {"set", kwSet}, {"sets", kwSets}, {"share", kwShare},
	{"show", kwShow}, {"start", kwStart},
	{"table", kwTable}, {"tablesample", kwTablesample}, {"temp", kwTemp}, {"temporary", kwTemp}, {"then", kwThen},
	{"time", kwTime}, {"to", kwTo}, {"transaction", kwTransaction}, {"truncate", kwTruncate},
	{"union", kwUnion}, {"unlisten", kwUnlisten}, {"update", kwUpdate}, {"use", kwUse},
	{"vacuum", kwVacuum}, {"value", kwValue}, {"values", kwValues}, {"varying", kwVarying}, {"verbose", kwVerbose},
	{"when", kwWhen}, {"where", kwWhere}, {"window", kwWindow}, {"with", kwWith}, {"within", kwWithin},
	{"work", kwWork},
	{"zone", kwZone},
}

// transactWords are keywords to SQL Server alone.
var transactWords = []wordEntry{
	{"add", kwStartsAnother}, {"apply", kwApply},
	{"backup", kwStartsAnother}, {"break", kwStartsAnother}, {"bulk", kwBulk},
	{"continue", kwStartsAnother},
	{"dbcc", kwDBCC}, {"deny", kwStartsAnother}, {"disable", kwStartsAnother}, {"dump", kwStartsAnother},
	{"enable", kwStartsAnother}, {"exec", kwExec},
	{"go", kwStartsAnother}, {"goto", kwStartsAnother},
	{"holdlock", kwLockHint},
	{"if", kwStartsAnother},
	{"kill", kwStartsAnother},
	{"lineno", kwStartsAnother},
	{"nolock", kwSnapshotHint},
	{"open", kwStartsAnother}, {"output", kwStartsAnother},
	{"paglock", kwLockHint}, {"print", kwStartsAnother},
	{"raiserror", kwStartsAnother}, {"readcommittedlock", kwLockHint}, {"readpast", kwLockHint},
	{"readtext", kwStartsAnother}, {"readuncommitted", kwSnapshotHint}, {"receive", kwStartsAnother},
	{"reconfigure", kwStartsAnother}, {"repeatableread", kwLockHint}, {"restore", kwStartsAnother},
	{"return", kwStartsAnother}, {"revert", kwStartsAnother},
	{"send", kwStartsAnother}, {"serializable", kwLockHint}, {"setuser", kwStartsAnother},
	{"shutdown", kwStartsAnother}, {"statistics", kwStartsAnother},
	{"tablock", kwLockHint}, {"tablockx", kwLockHint}, {"throw", kwStartsAnother}, {"tran", kwTran},
	{"trigger", kwStartsAnother},
	{"updatetext", kwStartsAnother}, {"updlock", kwLockHint},
	{"waitfor", kwStartsAnother}, {"while", kwStartsAnother}, {"writetext", kwStartsAnother},
	{"xlock", kwLockHint},
}
