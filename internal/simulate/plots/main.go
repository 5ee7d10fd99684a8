// Command plots makes the tables and plots of docs/balancing.md.
package main

import (
	"fmt"

	"github.com/readsplit/readsplit/internal/simulate"
)

func main() {
	for _, sc := range simulate.Scenarios() {
		fmt.Printf("### %s\n\n%s\n\n%s\n", sc.Name, sc.Says, simulate.Table(sc, simulate.All(sc)))
	}
}
