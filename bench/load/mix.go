package load

import (
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
)

// Mix is what clients do.
type Mix struct {
	Name   string
	Writes float64 // share of operations that write
	Own    float64 // share of writes that are followed by a read of what was written
	// Pause is how long a client does nothing before each step, on average. With 0 a few
	// clients are as many as the machine can serve, and the others wait for each other.
	Pause time.Duration
}

// Mixes are what is measured.
var Mixes = []Mix{
	{Name: "reads"},
	{Name: "writes", Writes: 1},
	{Name: "read own write", Writes: 1, Own: 1},
	{Name: "95/5", Writes: 0.05},
	{Name: "80/20", Writes: 0.2},
	{Name: "50/50", Writes: 0.5},
}

// client does what a mix says, on a row of its own.
type client struct {
	db       *gorm.DB
	replicas []*gorm.DB // where reads go by chance; none: to db
	id       int64
	version  int64
	rng      *rand.Rand

	reads, writes []time.Duration
	own           []time.Duration // reads right after a write
	missed        int             // reads that did not show the client's newest write
}

func (c *client) step(m Mix) error {
	if m.Pause > 0 {
		time.Sleep(time.Duration(c.rng.ExpFloat64() * float64(m.Pause)))
	}
	if m.Writes == 0 || c.rng.Float64() >= m.Writes {
		return c.read(&c.reads)
	}
	if err := c.write(); err != nil {
		return err
	}
	if m.Own > 0 && c.rng.Float64() < m.Own {
		return c.read(&c.own)
	}
	return nil
}

func (c *client) write() error {
	began := time.Now()
	err := c.db.Model(&Account{ID: c.id}).Update("version", c.version+1).Error
	if err != nil {
		return err
	}
	c.version++
	c.writes = append(c.writes, time.Since(began))
	return nil
}

func (c *client) read(took *[]time.Duration) error {
	db := c.db
	if n := len(c.replicas); n > 0 {
		db = c.replicas[c.rng.IntN(n)]
	}
	began := time.Now()
	var a Account
	if err := db.First(&a, c.id).Error; err != nil {
		return err
	}
	*took = append(*took, time.Since(began))
	if a.Version < c.version {
		c.missed++
	}
	return nil
}
