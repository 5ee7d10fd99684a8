package observe

// meanings are what the states of the monitor mean to whoever is on call, and whether
// they are bad news.
var meanings = map[string]struct {
	bad  bool
	text string
}{
	"up":          {false, "it answers, and is what it should be"},
	"suspect":     {true, "a probe failed or a connection broke: no read goes there until it answers again"},
	"down":        {true, "it does not answer"},
	"restarted":   {true, "another run of the server answers"},
	"regressed":   {true, "it came back in an older state than it had shown: it crashed, or was restored"},
	"paused":      {true, "an administrator has paused replay: what it shows grows older"},
	"replays":     {false, "replay goes on"},
	"cut_off":     {true, "it receives nothing, although the primary has more: look at the network between them, its slot, and its right to connect"},
	"receives":    {false, "it receives from the primary again"},
	"lagging":     {true, "it may be staler than MaxLag: only reads that allow more go there"},
	"within_lag":  {false, "it is within MaxLag again"},
	"ejected":     {true, "it answers probes, but reads fail there one after the other: it is left alone for a while"},
	"readmitted":  {false, "a read has succeeded there again"},
	"drained":     {false, "an operator has taken it out of service"},
	"resumed":     {false, "an operator has put it back into service"},
	"removed":     {false, "it is no longer configured"},
	"writable":    {true, "it is configured as a replica and is a primary: it was promoted, or the address is wrong"},
	"standby":     {true, "it is configured as the primary and is a standby: it was demoted, or the address is wrong"},
	"foreign":     {true, "it follows another history than the primary's: no read goes there"},
	"not_logical": {true, "it is declared to be fed by logical replication and is of the primary's own cluster: no read goes there"},
	"proven":      {false, "it follows the primary"},
	"balanced":    {true, "its name answers as several servers: reads find out on their connections what they are shown; give each a name of its own if you can"},
	"no_position": {true, "it does not tell its replay position: what may be read there rests on what is stated of it, and on time"},
	"new_history": {true, "the primary restarted or changed: positions from before cannot be compared any more"},
}

// Meaning says in a few words what the server has become; empty for a state that is not
// known here.
func (c Change) Meaning() string { return meanings[c.State].text }

// Bad reports whether it is bad news. A state that is not known here is.
func (c Change) Bad() bool {
	m, known := meanings[c.State]
	return m.bad || !known
}
