// Package app is one process of the tea shop: it opens the database, and answers
// requests until it is told to end. This is where replicas are known, and nowhere else.
package app

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Config is how a process is set up. It comes from the environment, where passwords
// are not seen by everybody.
type Config struct {
	// Name is how the process is called at the foot of its pages (WEBSHOP_NAME).
	Name string
	// Primary is where the database is (WEBSHOP_PRIMARY).
	Primary string
	// Replicas are where its copies are (WEBSHOP_REPLICAS: a line "name dsn" for each).
	Replicas []Replica
	// Key signs logins and session tokens, and is the same in every process
	// (WEBSHOP_KEY).
	Key string
	// Plugin is "readsplit", or "dbresolver" to see what goes wrong without
	// (WEBSHOP_PLUGIN).
	Plugin string
	// Sessions lets a user's last write follow them. It is off (WEBSHOP_SESSIONS=off)
	// where what that costs is measured.
	Sessions bool
}

// Replica is one copy of the database.
type Replica struct{ Name, DSN string }

// Environment is c as FromEnvironment reads it.
func (c Config) Environment() []string {
	var replicas []string
	for _, r := range c.Replicas {
		replicas = append(replicas, r.Name+" "+r.DSN)
	}
	sessions := "on"
	if !c.Sessions {
		sessions = "off"
	}
	return []string{
		"WEBSHOP_NAME=" + c.Name, "WEBSHOP_PRIMARY=" + c.Primary, "WEBSHOP_REPLICAS=" + strings.Join(replicas, "\n"),
		"WEBSHOP_KEY=" + c.Key, "WEBSHOP_PLUGIN=" + c.Plugin, "WEBSHOP_SESSIONS=" + sessions,
	}
}

// FromEnvironment reads the configuration and names all that is wrong with it.
func FromEnvironment() (Config, error) {
	c := Config{
		Name: os.Getenv("WEBSHOP_NAME"), Primary: os.Getenv("WEBSHOP_PRIMARY"),
		Key: os.Getenv("WEBSHOP_KEY"), Plugin: os.Getenv("WEBSHOP_PLUGIN"), Sessions: os.Getenv("WEBSHOP_SESSIONS") != "off",
	}
	var problems []error
	for line := range strings.Lines(os.Getenv("WEBSHOP_REPLICAS")) {
		name, dsn, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			problems = append(problems, fmt.Errorf("webshop: WEBSHOP_REPLICAS has the line %q: it must be a name, a space and a DSN", name))
		}
		c.Replicas = append(c.Replicas, Replica{name, dsn})
	}
	if c.Primary == "" {
		problems = append(problems, errors.New("webshop: WEBSHOP_PRIMARY is not set: it must be the DSN of the primary"))
	}
	if len(c.Key) < 16 {
		problems = append(problems, fmt.Errorf("webshop: WEBSHOP_KEY has %d bytes: it must have 16 or more", len(c.Key)))
	}
	if _, ok := plugins[c.Plugin]; !ok {
		problems = append(problems, fmt.Errorf("webshop: WEBSHOP_PLUGIN is %q: it must be readsplit or dbresolver", c.Plugin))
	}
	return c, errors.Join(problems...)
}
