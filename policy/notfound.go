package policy

// NotFound is what happens when a replica does not have a row that was looked for.
type NotFound uint8

// What can happen.
const (
	NotFoundStands   NotFound = iota // the replica's answer stands
	RecheckOnPrimary                 // the primary is asked once
)

// String returns "not_found_stands" or "recheck_on_primary".
func (n NotFound) String() string {
	switch n {
	case NotFoundStands:
		return "not_found_stands"
	case RecheckOnPrimary:
		return "recheck_on_primary"
	}
	return "invalid"
}
