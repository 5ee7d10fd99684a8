// Command plots writes the tables and plots of a page, whose marks say where: of
// docs/balancing.md, and the plots into docs/balancing.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/readsplit/readsplit/internal/simulate"
)

func main() {
	page := flag.String("page", "docs/balancing.md", "the page; the plots go into a directory beside it")
	flag.Parse()
	if err := write(*page); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

func write(page string) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, dir := string(content), page[:len(page)-len(filepath.Ext(page))]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, sc := range simulate.Scenarios() {
		results := simulate.All(sc)
		if text, err = simulate.Insert(text, sc, simulate.Table(sc, results)); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := os.WriteFile(filepath.Join(dir, sc.Name+".svg"), []byte(simulate.Plot(sc, results)), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d reads under each of %d balancers\n", sc.Name, results[0].Reads, len(results))
	}
	return os.WriteFile(page, []byte(text), 0o644)
}
