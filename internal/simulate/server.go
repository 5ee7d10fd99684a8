package simulate

import "time"

// server runs reads: as many at once as it has workers, the others wait in turn.
type server struct {
	Server
	run     *run
	slow    float64
	failing float64
	replay  time.Duration
	busy    int
	queue   []job
	served  int // of the reads that count
	longest int // queue
}

type job struct {
	size float64 // in mean reads
	done func()
}

// refusedAfter is how long a server that fails takes to say so.
const refusedAfter = 100 * time.Microsecond

// send sends a read over the network; done is called when the answer is back.
func (s *server) send(size float64, done func(ok bool)) {
	way := s.RTT / 2
	s.run.after(way, func() {
		if s.failing > 0 && s.run.chance.Float64() < s.failing {
			s.run.after(refusedAfter+way, func() { done(false) })
			return
		}
		j := job{size, func() { s.run.after(way, func() { done(true) }) }}
		if s.busy == s.Workers {
			s.queue = append(s.queue, j)
			s.longest = max(s.longest, len(s.queue))
			return
		}
		s.begin(j)
	})
}

func (s *server) begin(j job) {
	s.busy++
	takes := time.Duration(float64(s.Mean) * s.slow * j.size)
	s.run.after(takes, func() {
		s.busy--
		j.done()
		if len(s.queue) > 0 {
			first := s.queue[0]
			s.queue = s.queue[1:]
			s.begin(first)
		}
	})
}
