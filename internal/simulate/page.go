package simulate

import (
	"fmt"
	"strings"
)

// Insert puts the table and the plot of a scenario between its two marks in a page,
// and the text around it stays.
func Insert(page string, sc Scenario, table string) (string, error) {
	begin, end := Marks(sc)
	head, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("there is no %s", begin)
	}
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("there is no %s after %s", end, begin)
	}
	return fmt.Sprintf("%s%s\n%s\n\n![%s](balancing/%s.svg)\n\n%s\n%s%s", head, begin, sc.Says, sc.Says, sc.Name, table, end, tail), nil
}

// Marks are the lines between which a scenario stands in a page.
func Marks(sc Scenario) (begin, end string) {
	return fmt.Sprintf("<!-- simulation: %s -->", sc.Name), fmt.Sprintf("<!-- end: %s -->", sc.Name)
}
