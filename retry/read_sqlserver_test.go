package retry_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/retry"
)

// mssqlError has the methods by which an error of the SQL Server driver is known, as a value type, as there.
type mssqlError struct {
	number int32
	class  uint8
}

func (e mssqlError) Error() string         { return fmt.Sprintf("mssql: something (%d)", e.number) }
func (e mssqlError) SQLErrorNumber() int32 { return e.number }
func (e mssqlError) SQLErrorClass() uint8  { return e.class }

func TestOfRead_SQLServer(t *testing.T) {
	tests := []struct {
		numbers []int32
		want    retry.Verdict
	}{
		{[]int32{976, 979, 982, 983, 988, 4221, 921, 922, 926, 927, 945, 952, 17142, 17187, 18401, 40197, 40613},
			suspect(retry.CauseStarting)},
		{[]int32{596, 6005, 6006, 17188}, suspect(retry.CauseTerminated)},
		{[]int32{3947, 3948, 1219, 3961, 3950, 3951, 3952, 3953, 3957, 3958, 3959, 3962, 3963, 3964, 3965, 3966, 3967, 3969},
			elsewhere(retry.CauseRecoveryConflict)},
		{[]int32{1205, 1222}, elsewhere(retry.CauseLockTimeout)},
		{[]int32{3906}, asWrite(retry.CauseReadOnlyRefusal)},
		{[]int32{3980, 3988, 3989}, elsewhere(retry.CauseConnection)},
		{[]int32{17300, 17809}, elsewhere(retry.CauseTooManyConnections)},
		{[]int32{701, 802, 1204, 8645, 10928, 10929, 40501}, elsewhere(retry.CauseResources)},
		{[]int32{823, 824, 9001}, elsewhere(retry.CauseStorage)},
		{[]int32{207, 208, 195, 2715, 2812, 4121}, primary(retry.CauseSchemaBehind)},
		{[]int32{978, 916, 4060, 18456}, elsewhere(retry.CauseConfiguration)},
		{[]int32{229, 297, 300}, surface(retry.CauseConfiguration)},
		{[]int32{3960, 41302, 41305, 41325, 102, 2627, 50000, 3849, 3970}, surface(retry.CauseStatement)},
	}
	for _, tt := range tests {
		for _, number := range tt.numbers {
			assert.Equal(t, tt.want, retry.OfRead(mssqlError{number: number}), "number %d", number)
			assert.Equal(t, tt.want, retry.OfRead(fmt.Errorf("report: %w", mssqlError{number: number})), "wrapped %d", number)
		}
	}
}

func TestOfWrite_SQLServer(t *testing.T) {
	tests := []struct {
		numbers []int32
		class   uint8
		want    retry.Outcome
	}{
		{[]int32{102, 207, 208, 229, 515, 547, 2601, 2627, 2628, 8152, 1205, 1222, 3906, 3930, 3960, 3998, 41302}, 14, retry.RolledBack},
		{[]int32{976, 978, 982, 983, 988, 921, 922, 4060, 4221, 17142, 17187, 17188, 18401, 18456, 40613}, 14, retry.NeverSent},
		// A trigger, a procedure or a batch may have committed before it raised one of these.
		{[]int32{50000, 50001, 3902, 3903, 266, 596, 40197, 0}, 16, retry.Unknown},
		{[]int32{2627, 1205, 18456}, 20, retry.Unknown},
	}
	for _, tt := range tests {
		for _, number := range tt.numbers {
			assert.Equal(t, tt.want, retry.OfWrite(mssqlError{number, tt.class}), "number %d class %d", number, tt.class)
		}
	}
}
