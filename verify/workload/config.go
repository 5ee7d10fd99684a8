// Package workload is what the clients of an application do: they write in all the
// ways that GORM has, read back what they and others have written, pass the tokens
// of their sessions on to other processes, and record what they were told. Which
// plugin stands between them and the servers makes no difference to what they do.
package workload

import "time"

// Config is what one process of the application does. It travels to the process as
// JSON.
type Config struct {
	Process   int    `json:"process"` // from 1 on
	Processes int    `json:"processes"`
	Seed      uint64 `json:"seed"`
	// Plugin is "readsplit" or "dbresolver".
	Plugin string `json:"plugin"`
	// Primary and Replicas are how the servers are reached.
	Primary  string   `json:"primary"`
	Replicas []Server `json:"replicas"`
	// Clients are the goroutines.
	Clients int `json:"clients"`
	// Pause is how long a client thinks at most between two operations.
	Pause time.Duration `json:"pause"`
	// MaxLag bounds how old a read may be, TokenKey signs tokens.
	MaxLag   time.Duration `json:"max_lag"`
	TokenKey string        `json:"token_key"`
	// Budget is how many reads at once may run on the primary that wanted a replica;
	// 0: any number.
	Budget int `json:"budget,omitempty"`
	// FollowReplicas: the replicas may become the primary.
	FollowReplicas bool `json:"follow_replicas,omitempty"`
	// Ways are the ways of writing and reading that are used; empty: all.
	Ways []string `json:"ways,omitempty"`
}

// keys are the keys of tokens.
func (c *Config) keys() [][]byte {
	if c.TokenKey == "" {
		return nil
	}
	return [][]byte{[]byte(c.TokenKey)}
}

// Monotonic reports whether reads of a session never go backwards in this process.
func (c *Config) Monotonic() bool { return c.Process%2 == 0 }

// Server is one replica.
type Server struct {
	Name string `json:"name"`
	DSN  string `json:"dsn"`
}

// Message is a token on its way from one session to another.
type Message struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	To   int    `json:"to"`
	// Keys are what its sender has written lately, so that its receiver looks there.
	Keys []string `json:"keys"`
}

// Link connects a process with whoever judges it. Its methods are called from
// several goroutines.
type Link interface {
	Record(e Event)
	Pass(m Message)
}
