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

// keywordOf looks an unquoted word up, in any case. A word that only one of the
// dialects knows is guarded by the dialect where it matters.
func keywordOf(d Dialect, word string) keyword {
	if len(word) < 2 {
		return kwNone // an alias, most of the time
	}
	first := word[0] | 0x20 - 'a'
	if first >= 26 {
		return kwNone
	}
	if kw := findWord(sharedIndex, first, word); kw != kwNone || d != SQLServer {
		return kw
	}
	return findWord(transactIndex, first, word)
}

type wordEntry struct {
	word string
	kw   keyword
}

// wordIndex finds keywords by first letter and length. The bits of lengths answer
// for most words, which are none, from memory that is at hand.
type wordIndex struct {
	lengths [26]uint32
	entries [26][longestWord + 1][]wordEntry
}

const longestWord = len("readcommittedlock")

func findWord(index *wordIndex, first byte, word string) keyword {
	n := len(word)
	if n > longestWord || index.lengths[first]>>n&1 == 0 {
		return kwNone
	}
	entries := index.entries[first][n]
	for i := range entries {
		if e := &entries[i]; word[1]|0x20 == e.word[1] && equalFold(word, e.word) {
			return e.kw
		}
	}
	return kwNone
}

func indexOf(words *[26][]wordEntry) *wordIndex {
	var index wordIndex
	for first, list := range words {
		for _, e := range list {
			n := len(e.word)
			index.lengths[first] |= 1 << n
			index.entries[first][n] = append(index.entries[first][n], e)
		}
	}
	return &index
}

var sharedIndex, transactIndex = indexOf(&sharedWords), indexOf(&transactWords)

// sharedWords by first letter.
var sharedWords = [26][]wordEntry{
	0: {{"abort", kwAbort}, {"all", kwAll}, {"alter", kwAlter}, {"analyse", kwAnalyze},
		{"analyze", kwAnalyze}, {"and", kwAnd}, {"as", kwAs},
	},
	'b' - 'a': {{"begin", kwBegin}, {"bit", kwCharacter}, {"by", kwBy}},
	'c' - 'a': {{"call", kwCall}, {"case", kwCase}, {"char", kwCharacter}, {"character", kwCharacter},
		{"characteristics", kwCharacteristics}, {"checkpoint", kwCheckpoint}, {"close", kwClose},
		{"cluster", kwCluster}, {"comment", kwComment}, {"commit", kwCommit}, {"copy", kwCopy},
		{"create", kwCreate}, {"cross", kwJoinSide}, {"cube", kwCube}, {"cycle", kwCycle},
	},
	'd' - 'a': {{"deallocate", kwDeallocate}, {"declare", kwDeclare}, {"delete", kwDelete},
		{"discard", kwDiscard}, {"distinct", kwDistinct}, {"do", kwDo}, {"drop", kwDrop},
	},
	'e' - 'a': {{"else", kwElse}, {"end", kwEnd}, {"except", kwExcept}, {"execute", kwExecute},
		{"explain", kwExplain},
	},
	'f' - 'a': {{"fetch", kwFetch}, {"first", kwFirst}, {"for", kwFor}, {"from", kwFrom}, {"full", kwJoinSide}},
	'g' - 'a': {{"grant", kwGrant}, {"group", kwGroup}, {"grouping", kwGrouping}},
	'h' - 'a': {{"having", kwHaving}},
	'i' - 'a': {{"ilike", kwIlike}, {"import", kwImport}, {"inner", kwJoinSide}, {"insert", kwInsert},
		{"intersect", kwIntersect}, {"into", kwInto},
	},
	'j' - 'a': {{"join", kwJoin}},
	'k' - 'a': {{"key", kwKey}},
	'l' - 'a': {{"left", kwJoinSide}, {"like", kwLike}, {"limit", kwLimit}, {"listen", kwListen},
		{"load", kwLoad}, {"local", kwLocal}, {"lock", kwLock},
	},
	'm' - 'a': {{"materialized", kwMaterialized}, {"merge", kwMerge}, {"move", kwMove}},
	'n' - 'a': {{"natural", kwJoinSide}, {"nchar", kwCharacter}, {"next", kwNext}, {"no", kwNo},
		{"not", kwNot}, {"notify", kwNotify},
	},
	'o' - 'a': {{"offset", kwOffset}, {"on", kwOn}, {"operator", kwOperator}, {"or", kwOr}, {"order", kwOrder},
		{"ordinality", kwOrdinality}, {"outer", kwJoinSide},
	},
	'p' - 'a': {{"partition", kwPartition}, {"prepare", kwPrepare}, {"prepared", kwPrepared}},
	'r' - 'a': {{"reassign", kwReassign}, {"recursive", kwRecursive}, {"refresh", kwRefresh},
		{"reindex", kwReindex}, {"release", kwRelease}, {"reset", kwReset}, {"revoke", kwRevoke},
		{"right", kwJoinSide}, {"rollback", kwRollback}, {"rollup", kwRollup},
	},
	's' - 'a': {{"save", kwSave}, {"savepoint", kwSavepoint}, {"search", kwSearch}, {"security", kwSecurity},
		{"select", kwSelect}, {"session", kwSession}, {"set", kwSet}, {"sets", kwSets}, {"share", kwShare},
		{"show", kwShow}, {"start", kwStart},
	},
	't' - 'a': {{"table", kwTable}, {"tablesample", kwTablesample}, {"temp", kwTemp}, {"temporary", kwTemp},
		{"then", kwThen}, {"time", kwTime}, {"to", kwTo}, {"transaction", kwTransaction},
		{"truncate", kwTruncate},
	},
	'u' - 'a': {{"union", kwUnion}, {"unlisten", kwUnlisten}, {"update", kwUpdate}, {"use", kwUse}},
	'v' - 'a': {{"vacuum", kwVacuum}, {"value", kwValue}, {"values", kwValues}, {"varying", kwVarying},
		{"verbose", kwVerbose},
	},
	'w' - 'a': {{"when", kwWhen}, {"where", kwWhere}, {"window", kwWindow}, {"with", kwWith},
		{"within", kwWithin}, {"work", kwWork},
	},
	'z' - 'a': {{"zone", kwZone}},
}

// transactWords are keywords to SQL Server alone.
var transactWords = [26][]wordEntry{
	0:         {{"add", kwStartsAnother}, {"apply", kwApply}},
	'b' - 'a': {{"backup", kwStartsAnother}, {"break", kwStartsAnother}, {"bulk", kwBulk}},
	'c' - 'a': {{"continue", kwStartsAnother}},
	'd' - 'a': {{"dbcc", kwDBCC}, {"deny", kwStartsAnother}, {"disable", kwStartsAnother},
		{"dump", kwStartsAnother},
	},
	'e' - 'a': {{"enable", kwStartsAnother}, {"exec", kwExec}},
	'g' - 'a': {{"go", kwStartsAnother}, {"goto", kwStartsAnother}},
	'h' - 'a': {{"holdlock", kwLockHint}},
	'i' - 'a': {{"if", kwStartsAnother}},
	'k' - 'a': {{"kill", kwStartsAnother}},
	'l' - 'a': {{"lineno", kwStartsAnother}},
	'n' - 'a': {{"nolock", kwSnapshotHint}},
	'o' - 'a': {{"open", kwStartsAnother}, {"output", kwStartsAnother}},
	'p' - 'a': {{"paglock", kwLockHint}, {"print", kwStartsAnother}},
	'r' - 'a': {{"raiserror", kwStartsAnother}, {"readcommittedlock", kwLockHint}, {"readpast", kwLockHint},
		{"readtext", kwStartsAnother}, {"readuncommitted", kwSnapshotHint}, {"receive", kwStartsAnother},
		{"reconfigure", kwStartsAnother}, {"repeatableread", kwLockHint}, {"restore", kwStartsAnother},
		{"return", kwStartsAnother}, {"revert", kwStartsAnother},
	},
	's' - 'a': {{"send", kwStartsAnother}, {"serializable", kwLockHint}, {"setuser", kwStartsAnother},
		{"shutdown", kwStartsAnother}, {"statistics", kwStartsAnother},
	},
	't' - 'a': {{"tablock", kwLockHint}, {"tablockx", kwLockHint}, {"throw", kwStartsAnother},
		{"tran", kwTran}, {"trigger", kwStartsAnother},
	},
	'u' - 'a': {{"updatetext", kwStartsAnother}, {"updlock", kwLockHint}},
	'w' - 'a': {{"waitfor", kwStartsAnother}, {"while", kwStartsAnother}, {"writetext", kwStartsAnother}},
	'x' - 'a': {{"xlock", kwLockHint}},
}
