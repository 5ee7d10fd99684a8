package policy

// String returns "primary", "replica", "wait" or "refuse".
func (t Target) String() string { return name(t, "primary", "replica", "wait", "refuse") }

// MarshalText returns t.String().
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// String returns "unknown", "read", "locking_read" or "write".
func (s Statement) String() string { return name(s, "unknown", "read", "locking_read", "write") }

// String returns "normal", "fresh", "use_replica", "stale" or "any_replica".
func (m Mode) String() string {
	return name(m, "normal", "fresh", "use_replica", "stale", "any_replica")
}

// String returns "unknown", "standby", "primary", "foreign" or "logical".
func (r Role) String() string { return name(r, "unknown", "standby", "primary", "foreign", "logical") }

// MarshalText returns r.String().
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func name[T ~uint8](v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "invalid"
}
