package tsql

import "github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"

// Expr is an expression or a condition.
type Expr any

// The expressions.
type (
	// Lit is a constant.
	Lit struct {
		Value any
		Type  sqlval.Type
	}
	// Var is @name.
	Var struct{ Name string }
	// Global is @@name.
	Global struct{ Name string }
	// Col is a column, with its table's name or alias in front when Parts has more than one.
	Col struct{ Parts []string }
	// Star is * or t.*.
	Star struct{ Table string }
	// Unary is -x, +x, ~x or NOT x.
	Unary struct {
		Op string
		X  Expr
	}
	// Binary has operators in lower case.
	Binary struct {
		Op   string
		L, R Expr
	}
	// IsNull is x IS [NOT] NULL.
	IsNull struct {
		X   Expr
		Not bool
	}
	// In has a list or a subquery.
	In struct {
		X    Expr
		List []Expr
		Sub  *Select
		Not  bool
	}
	// Between is x [NOT] BETWEEN lo AND hi.
	Between struct {
		X, Lo, Hi Expr
		Not       bool
	}
	// Like is x [NOT] LIKE pattern [ESCAPE e].
	Like struct {
		X, Pattern, Escape Expr
		Not                bool
	}
	// Exists is EXISTS (SELECT ..).
	Exists struct{ Sub *Select }
	// Sub is a scalar subquery.
	Sub struct{ Sub *Select }
	// Case has an operand, or conditions.
	Case struct {
		Operand Expr
		Whens   []When
		Else    Expr
	}
	// When is an arm of a Case.
	When struct{ If, Then Expr }
	// Cast is CAST, CONVERT and their TRY forms.
	Cast struct {
		X   Expr
		To  sqlval.Type
		Try bool
	}
	// Call is a function by its name in lower case, with a schema where it was written.
	Call struct {
		Name     string
		Args     []Expr
		Star     bool // count(*)
		Distinct bool
	}
)

// Table is a name of a table with up to three parts, the last of which is its own.
type Table struct {
	Parts []string
	Alias string
	Hints []string
	Args  []Expr // of a table-valued function
	IsFn  bool
}

// The sources of rows.
type (
	// Derived is (SELECT ..) alias, and (VALUES ..) alias (columns).
	Derived struct {
		Sub    *Select
		Values [][]Expr
		Alias  string
		Cols   []string
	}
	// Join joins two sources: "inner", "left" or "cross".
	Join struct {
		Kind string
		L, R Source
		On   Expr
	}
	// Source is a *Table, *Derived or *Join.
	Source any
)

// Item is a column of a result.
type Item struct {
	Expr   Expr
	Alias  string
	Assign string // SELECT @x = ..
}

// Order is a term of ORDER BY.
type Order struct {
	Expr Expr
	Desc bool
}

// Select is a query.
type Select struct {
	Distinct bool
	Top      Expr
	Items    []Item
	From     Source
	Where    Expr
	GroupBy  []Expr
	Having   Expr
	Unions   []Union
	OrderBy  []Order
	Offset   Expr
	Fetch    Expr
}

// Union is what follows UNION [ALL].
type Union struct {
	All bool
	Sel *Select
}

// Set is column = value.
type Set struct {
	Col   string
	Value Expr
}

// Column is a column of CREATE TABLE and ALTER TABLE.
type Column struct {
	Name        string
	Type        sqlval.Type
	NotNull     bool
	Identity    bool
	Seed, Step  int64
	Default     Expr
	DefaultText string
	Primary     bool
	Unique      bool
	Check       *Constraint
	References  *Constraint
}

// Constraint is a constraint of a table.
type Constraint struct {
	Name     string
	Kind     string // "primary", "unique", "check", "foreign"
	Cols     []string
	Check    Expr
	Text     string
	RefTable *Table
	RefCols  []string
}

// Stmt is a statement.
type Stmt any

// The statements.
type (
	// Insert is INSERT of values, of a query, or of defaults.
	Insert struct {
		Table   *Table
		Cols    []string
		Output  []Item
		Rows    [][]Expr // nil values are DEFAULT
		Query   *Select
		Default bool // DEFAULT VALUES
	}
	// Update is UPDATE of one table.
	Update struct {
		Table  *Table
		Sets   []Set
		Output []Item
		Where  Expr
	}
	// Delete is DELETE from one table.
	Delete struct {
		Table  *Table
		Output []Item
		Where  Expr
	}
	// Merge is the MERGE of an upsert.
	Merge struct {
		Table   *Table
		Using   *Derived
		On      Expr
		Matched []Set
		Update  bool
		Cols    []string
		Values  []Expr
		Insert  bool
		Output  []Item
	}
	// CreateTable is CREATE TABLE.
	CreateTable struct {
		Table       *Table
		Cols        []Column
		Constraints []Constraint
	}
	// DropTable is DROP TABLE.
	DropTable struct {
		Tables   []*Table
		IfExists bool
	}
	// Truncate is TRUNCATE TABLE.
	Truncate struct{ Table *Table }
	// AlterTable is ALTER TABLE with one action.
	AlterTable struct {
		Table  *Table
		Action string // "add", "alter", "drop column", "add constraint", "drop constraint"
		Col    Column
		Names  []string
		Constr *Constraint
	}
	// CreateIndex is CREATE INDEX.
	CreateIndex struct {
		Name   string
		Table  *Table
		Unique bool
		Cols   []string
		Where  Expr
	}
	// DropIndex is DROP INDEX.
	DropIndex struct {
		Name     string
		Table    *Table
		IfExists bool
	}
	// Begin is BEGIN TRANSACTION.
	Begin struct{ Name string }
	// Commit is COMMIT.
	Commit struct{ Name string }
	// Rollback is ROLLBACK, of all or to a savepoint.
	Rollback struct{ Name string }
	// Save is SAVE TRANSACTION.
	Save struct{ Name string }
	// SetVar is SET @x = value.
	SetVar struct{ Set Set }
	// SetOption is SET of an option.
	SetOption struct {
		Name  string // in lower case, with its words
		On    bool
		Value string
		Table *Table // of IDENTITY_INSERT
	}
	// Declare is DECLARE of one variable, and a parameter of sp_executesql.
	Declare struct {
		Name string
		Type sqlval.Type
		Init Expr
	}
	// If is IF with its blocks.
	If struct {
		Cond       Expr
		Then, Else []Stmt
	}
	// WaitFor is WAITFOR DELAY.
	WaitFor struct{ Delay Expr }
	// Use is USE.
	Use struct{ Database string }
	// Exec is EXEC of a procedure.
	Exec struct {
		Proc string
		Args []Arg
	}
	// Raise is THROW and RAISERROR.
	Raise struct{ Number, Message, Class, State Expr }
	// Print is PRINT.
	Print struct{ X Expr }
)

// Arg is an argument of EXEC.
type Arg struct {
	Name  string
	Value Expr
}
