package doctor_test

import (
	"context"
	"fmt"

	"github.com/readsplit/readsplit/doctor"
)

func ExampleExamine() {
	report, err := doctor.Examine(context.Background(), doctor.Topology{
		Primary: doctor.Server{DSN: "sqlserver://shop:secret@ag-listener?database=shop"},
		Replicas: []doctor.Server{
			{Name: "ag2", DSN: "sqlserver://shop:secret@ag2?database=shop&ApplicationIntent=readonly"},
		},
	})
	if err != nil {
		panic(err)
	}
	for _, f := range report.Findings {
		fmt.Printf("%v %s: %s\n", f.Severity, f.ID, f.What)
	}
	fmt.Println("exit status", report.ExitStatus())
	// Output:
	// problem intent-misspelt: ApplicationIntent is "readonly", which the driver takes for no intent.
	// notice servers-not-asked: SQL Server was not asked, only its connection strings were read: no driver named sqlserver is in this program.
	// exit status 2
}
